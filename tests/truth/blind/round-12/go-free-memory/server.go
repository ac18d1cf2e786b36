// server PORT yes|no: answers from a large cache; may give memory back to the system after each upload.
package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
)

type product struct {
	name   string
	prices []*int
}

var products []*product

func upload(writer http.ResponseWriter, _ *http.Request) {
	part := make([]byte, 1<<20)
	for index := range part {
		part[index] = byte(index)
	}
	if os.Args[2] == "yes" {
		debug.FreeOSMemory()
	}
	fmt.Fprintln(writer, len(part), len(products))
}

func main() {
	for number := 0; number < 500000; number++ {
		one := &product{name: fmt.Sprint("product ", number)}
		for place := 0; place < 4; place++ {
			price := number * place
			one.prices = append(one.prices, &price)
		}
		products = append(products, one)
	}
	http.HandleFunc("/", upload)
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
