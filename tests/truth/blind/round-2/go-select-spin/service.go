// PORT SPINS: answers requests, and watches for a reload.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

var reloaded int

func watch(reload chan bool, spins bool) {
	for {
		if spins {
			select {
			case <-reload:
				reloaded++
			default:
			}
		} else {
			<-reload
			reloaded++
		}
	}
}

func main() {
	reload := make(chan bool)
	go watch(reload, os.Args[2] == "1")
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		until, sum := time.Now().Add(2*time.Millisecond), 0
		for time.Now().Before(until) {
			sum++
		}
		fmt.Fprintln(answer, "done", sum > 0)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
