// server PORT stacks|count: serves, beside many idle sessions and a watchdog.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"time"
)

const sessions = 60000

func watch(how string) {
	stacks := make([]byte, 64<<20)
	seen := 0
	for {
		time.Sleep(100 * time.Millisecond)
		if how == "stacks" {
			seen += runtime.Stack(stacks, true)
		} else {
			seen += runtime.NumGoroutine()
		}
	}
}

func session(messages chan int) {
	for message := range messages {
		fmt.Println(message)
	}
}

func main() {
	for count := 0; count < sessions; count++ {
		go session(make(chan int))
	}
	go watch(os.Args[2])
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		fmt.Fprintln(answer, "done")
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
