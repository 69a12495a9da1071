package search

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// pool runs tasks, which may add others, on several goroutines. The newest
// task runs first, so that a tree is walked depth first and few directories are open
// at a time. The zero value is ready.
type pool struct {
	mu     sync.Mutex
	more   *sync.Cond
	tasks  []func()
	open   int    // tasks waiting and running
	broken string // panic value of a task, with its stack
}

// add adds a task. The first ones are added before run.
func (p *pool) add(tasks ...func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks = append(p.tasks, tasks...)
	p.open += len(tasks)
	if p.more != nil {
		p.more.Broadcast()
	}
}

// run returns when all tasks are done and its goroutines have ended. A panic
// of a task is raised again here, where the caller can recover from it.
func (p *pool) run() {
	p.more = sync.NewCond(&p.mu)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(p.work)
	}
	workers.Wait()
	if p.broken != "" {
		panic(p.broken)
	}
}

func (p *pool) work() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.tasks) == 0 {
			if p.open == 0 {
				return
			}
			p.more.Wait()
		}
		last := len(p.tasks) - 1
		task := p.tasks[last]
		p.tasks[last] = nil
		p.tasks = p.tasks[:last]
		p.mu.Unlock()
		broken := guard(task)
		p.mu.Lock()
		if broken != "" {
			p.broken = broken
		}
		if p.open--; p.open == 0 {
			p.more.Broadcast()
		}
	}
}

// guard runs a task and returns its panic, "" if it did not panic.
func guard(task func()) (broken string) {
	defer func() {
		if r := recover(); r != nil {
			broken = fmt.Sprintf("%v\n%s", r, debug.Stack())
		}
	}()
	task()
	return ""
}
