// server PORT yes|no SESSIONS: sessions look every 20 ms whether they have something to send; of those that have ended
// the ticker is stopped, or not.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

type session struct {
	ended  chan bool
	queue  []string
	looked int
}

func (s *session) watch(stopped bool) {
	ticker := time.NewTicker(20 * time.Millisecond)
	for {
		select {
		case <-ticker.C:
			s.looked++
			if len(s.queue) > 0 {
				s.queue = s.queue[1:]
			}
		case <-s.ended:
			if stopped {
				ticker.Stop()
				return
			}
		}
	}
}

func main() {
	stopped := os.Args[2] == "yes"
	count, _ := strconv.Atoi(os.Args[3])
	for number := 0; number < count; number++ {
		s := &session{ended: make(chan bool, 1)}
		go s.watch(stopped)
		s.ended <- true
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		total := 0
		for number := 0; number < 2000000; number++ {
			total += number ^ (total >> 3)
		}
		fmt.Fprintln(w, total)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
