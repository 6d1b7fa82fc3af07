# shellcheck shell=bash
# Starts and stops processes by their recorded pid; up.sh and down.sh source this
# file. A pid file holds "PID STARTTIME": the start time (field 22 of
# /proc/PID/stat) tells the process from a later one with the same pid.

starttime() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# alive NAME: does the recorded process still run? Sets $pid.
alive() {
    local t
    pid=
    [ -s "$K8S_STATE/run/$1.pid" ] || return 1
    read -r pid t <"$K8S_STATE/run/$1.pid"
    [ -n "$t" ] && [ "$(starttime "$pid")" = "$t" ]
}

# start NAME COMMAND...: in a session of its own, with its output in logs/NAME.log.
start() {
    local name=$1 fd
    shift
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            [ "$fd" -le 2 ] || eval "exec $fd>&-"
        done
        exec setsid "$@"
    ) </dev/null >>"$K8S_STATE/logs/$name.log" 2>&1 &
    echo "$! $(starttime $!)" >"$K8S_STATE/run/$name.pid"
}

# stop NAME...: SIGTERM to all of them, then SIGKILL to those left after 15 s.
stop() {
    local name
    for name in "$@"; do
        ! alive "$name" || kill -TERM "$pid" 2>/dev/null
    done
    for name in "$@"; do
        for _ in $(seq 150); do
            alive "$name" || continue 2
            sleep 0.1
        done
        say "$name ($pid) ignored SIGTERM; killing it"
        kill -KILL "$pid" 2>/dev/null
    done
}

# wait_for SECONDS NAME COMMAND...: until COMMAND succeeds; fails early, with
# the end of NAME's log, when process NAME has died.
wait_for() {
    local end=$((SECONDS + $1)) name=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        alive "$name" || { tail -n 15 "$K8S_STATE/logs/$name.log" >&2; die "$name died"; }
        [ $SECONDS -lt $end ] || { tail -n 15 "$K8S_STATE/logs/$name.log" >&2; die "timed out waiting for: $*"; }
        sleep 0.3
    done
}
