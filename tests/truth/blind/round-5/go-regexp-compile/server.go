// ADDRESS EACH: answers whether 60 lines are addresses of mail; compiles the pattern for each of them, or once.
package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
)

const pattern = `^[\pL\pN._%+-]{1,64}@(?:[\pL\pN](?:[\pL\pN-]{0,61}[\pL\pN])?\.){1,8}[\pL]{2,63}$`

var compiled = regexp.MustCompile(pattern)

func valid(line string, each bool) bool {
	if each {
		return regexp.MustCompile(pattern).MatchString(line)
	}
	return compiled.MatchString(line)
}

func main() {
	each := os.Args[2] == "1"
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		count := 0
		for number := range 60 {
			if valid(fmt.Sprintf("user.%d@mail.example.com", number), each) {
				count++
			}
		}
		fmt.Fprintln(answer, count)
	})
	if err := http.ListenAndServe(os.Args[1], nil); err != nil {
		panic(err)
	}
}
