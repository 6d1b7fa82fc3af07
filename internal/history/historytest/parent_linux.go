package historytest

import "syscall"

// endWithParent lets a process end at once when the thread that starts it does.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
