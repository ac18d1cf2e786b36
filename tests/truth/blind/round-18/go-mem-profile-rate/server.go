// server PORT: answers with what it makes of a document of JSON; a heap profile is at /debug/pprof/heap.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"strings"
)

type line struct {
	Sku   string            `json:"sku"`
	Count int               `json:"count"`
	Tags  map[string]string `json:"tags"`
}

func init() {
	if rate, err := strconv.Atoi(os.Getenv("HEAP_PROFILE_RATE")); err == nil {
		runtime.MemProfileRate = rate
	}
}

var order = func() string {
	var lines []string
	for i := 0; i < 300; i++ {
		lines = append(lines, fmt.Sprintf(`{"sku": "A-%d", "count": %d, "tags": {"colour": "red%d", "size": "L"}}`, i, i%7, i))
	}
	return "[" + strings.Join(lines, ",") + "]"
}()

func handle(writer http.ResponseWriter, _ *http.Request) {
	var lines []line
	if err := json.Unmarshal([]byte(order), &lines); err != nil {
		http.Error(writer, err.Error(), 500)
		return
	}
	var parts []string
	for _, each := range lines {
		for name, value := range each.Tags {
			parts = append(parts, fmt.Sprintf("%s/%s=%s*%d", each.Sku, name, value, each.Count))
		}
	}
	fmt.Fprintln(writer, len(strings.Join(parts, ",")))
}

func main() {
	http.HandleFunc("/", handle)
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
