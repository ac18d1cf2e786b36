// server PORT WAIT_US: looks users up in batches.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const most = 100

type batch struct {
	keys []string
	full chan struct{}
	done chan struct{}
	said map[string]string
}

type loader struct {
	wait    time.Duration
	mutex   sync.Mutex
	current *batch
}

func (l *loader) load(key string) string {
	l.mutex.Lock()
	if l.current == nil {
		l.current = &batch{full: make(chan struct{}), done: make(chan struct{})}
		go l.gather(l.current)
	}
	mine := l.current
	mine.keys = append(mine.keys, key)
	if len(mine.keys) == most {
		close(mine.full)
		l.current = nil
	}
	l.mutex.Unlock()
	<-mine.done
	return mine.said[key]
}

func (l *loader) gather(b *batch) {
	select {
	case <-time.After(l.wait):
		l.mutex.Lock()
		if l.current == b {
			l.current = nil
		}
		l.mutex.Unlock()
	case <-b.full:
	}
	b.said = map[string]string{}
	for _, key := range b.keys {
		b.said[key] = "user of " + key
	}
	close(b.done)
}

func main() {
	wait, _ := strconv.Atoi(os.Args[2])
	users := &loader{wait: time.Duration(wait) * time.Microsecond}
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Fprintln(answer, users.load(request.URL.Path))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
