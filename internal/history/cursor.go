package history

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// BadCursorError is a cursor that this store did not give for this query.
type BadCursorError struct {
	// Cursor as it was given.
	Cursor string
}

func (e *BadCursorError) Error() string {
	return "the cursor is none that this list gave: leave it out to start from the beginning"
}

// cursor is the sort key of the last row of a page.
type cursor struct {
	order int64
	id    string
}

var cursorText = base64.RawURLEncoding.Strict()

// scope is what a cursor is good for: the list with its filters.
func scope(parts ...string) string { return strings.Join(parts, "\x00") }

// encode gives the cursor with a sum over it and its scope, by which a cursor
// made up, cut off or taken from another list shows. It is no secret: whoever
// gets past it sees a page that they may see anyway.
func (c cursor) encode(scope string) string {
	key := binary.AppendVarint(nil, c.order)
	key = append(key, c.id...)
	return cursorText.EncodeToString(append(binary.BigEndian.AppendUint32(nil, sum(scope, key)), key...))
}

func decodeCursor(text, scope string) (cursor, error) {
	raw, err := cursorText.DecodeString(text)
	if err != nil || len(raw) < 5 {
		return cursor{}, &BadCursorError{Cursor: text}
	}
	key := raw[4:]
	order, n := binary.Varint(key)
	if n <= 0 || binary.BigEndian.Uint32(raw) != sum(scope, key) {
		return cursor{}, &BadCursorError{Cursor: text}
	}
	return cursor{order: order, id: string(key[n:])}, nil
}

func sum(scope string, key []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE([]byte(scope+"\x00")), crc32.IEEETable, key)
}
