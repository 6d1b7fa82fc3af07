package suite
import ("testing";"fmt")
func TestDbg(t *testing.T){
 b := newBot(t)
 s := b.answering(t, byAnthropic)
 run(t, s, RunOptions{}, namespace4(), Deps{})
 fmt.Println(b.header[anthropicPath])
}
