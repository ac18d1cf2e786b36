// ADDRESS COLLECTOR HELD: answers with prices, and reports them to a collector, under the lock for reading or after it.
package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

var (
	lock   sync.RWMutex
	prices = map[string]int{"apple": 3, "pear": 4}
)

func send(collector string, report []byte) {
	answer, err := http.Post(collector, "text/plain", bytes.NewReader(report))
	if err == nil {
		answer.Body.Close()
	}
}

func report(collector string, held bool) {
	lock.RLock()
	text := fmt.Appendln(nil, prices)
	if held {
		send(collector, text)
	}
	lock.RUnlock()
	if !held {
		send(collector, text)
	}
}

func main() {
	collector, held := os.Args[2], os.Args[3] == "1"
	go func() {
		for range time.Tick(500 * time.Millisecond) {
			report(collector, held)
		}
	}()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			lock.Lock()
			prices["apple"]++
			lock.Unlock()
		}
	}()
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		lock.RLock()
		defer lock.RUnlock()
		fmt.Fprintln(answer, prices["apple"])
	})
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		panic(err)
	}
}
