// PORT: answers from a table that lives in memory, with some garbage for each request.
package main

import (
	"fmt"
	"net/http"
	"os"
)

type session struct {
	name string
	next *session
}

var table = map[int]*session{}

func answer(w http.ResponseWriter, r *http.Request) {
	var words [][]byte
	for len(words) < 500 {
		words = append(words, make([]byte, 1000))
	}
	fmt.Fprintln(w, len(words), table[7].name)
}

func main() {
	for number := 0; number < 600000; number++ {
		table[number] = &session{fmt.Sprint("session ", number), table[number-1]}
	}
	http.HandleFunc("/", answer)
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
