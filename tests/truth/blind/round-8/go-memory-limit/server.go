// PORT: keeps a catalogue in memory, and answers with a part of it.
package main

import (
	"net/http"
	"os"
	"strconv"
)

type article struct {
	name string
	next *article
	tags [4]*int
}

var catalogue []*article

func main() {
	for n := 0; n < 800_000; n++ {
		one := &article{name: "article " + strconv.Itoa(n)}
		if n > 0 {
			one.next = catalogue[n/2]
		}
		for tag := range one.tags {
			one.tags[tag] = new(int)
		}
		catalogue = append(catalogue, one)
	}
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		parts := make([]*article, 0, 1000)
		for n := 0; n < 10_000; n++ {
			parts = append(parts, &article{name: "part", next: catalogue[n]})
		}
		response.Write([]byte(strconv.Itoa(len(parts))))
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
