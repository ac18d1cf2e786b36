// server PORT CLUSTER RATE BURST: asks a cluster four times for each request, by a client that limits its own rate.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// limiter lets so many calls pass each second, as a bucket of tokens does.
type limiter struct {
	mutex  sync.Mutex
	rate   float64
	burst  float64
	tokens float64
	last   time.Time
}

func (limit *limiter) reserve() time.Duration {
	limit.mutex.Lock()
	defer limit.mutex.Unlock()
	now := time.Now()
	limit.tokens = min(limit.burst, limit.tokens+now.Sub(limit.last).Seconds()*limit.rate)
	limit.last = now
	limit.tokens--
	return time.Duration(max(0, -limit.tokens/limit.rate*1e9))
}

func (limit *limiter) wait() {
	if delay := limit.reserve(); delay > 0 {
		timer := time.NewTimer(delay)
		<-timer.C
	}
}

func number(word string) float64 {
	value, err := strconv.ParseFloat(word, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	limit := &limiter{rate: number(os.Args[3]), burst: number(os.Args[4]), last: time.Now()}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	get := func(kind string) int64 {
		limit.wait()
		answer, err := client.Get("http://127.0.0.1:" + os.Args[2] + "/" + kind)
		if err != nil {
			panic(err)
		}
		defer answer.Body.Close()
		length, _ := io.Copy(io.Discard, answer.Body)
		return length
	}
	http.HandleFunc("/", func(writer http.ResponseWriter, _ *http.Request) {
		length := get("pods") + get("services") + get("secrets") + get("nodes")
		fmt.Fprintln(writer, length)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
