// Keeps sessions in memory: "service pointers" as pointers to them, "service offsets" in arrays without any.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
)

const sessions = 3_000_000

type session struct {
	user, address string
	seen          [4]int64
}

type flat struct {
	text [48]byte
	seen [4]int64
}

type line struct {
	name  *int64
	value int64
}

var (
	byName  map[string]*session
	offsets map[uint64]uint32
	records []flat
	turn    atomic.Uint64
)

func fill(how string) {
	if how == "pointers" {
		byName = make(map[string]*session, sessions)
		for n := 0; n < sessions; n++ {
			made := &session{user: fmt.Sprintf("user-%d", n), address: fmt.Sprintf("10.0.%d.%d", n>>8&255, n&255)}
			byName[made.user] = made
		}
		return
	}
	offsets = make(map[uint64]uint32, sessions)
	records = make([]flat, sessions)
	for n := 0; n < sessions; n++ {
		offsets[uint64(n)] = uint32(n)
		copy(records[n].text[:], fmt.Sprintf("user-%d 10.0.%d.%d", n, n>>8&255, n&255))
	}
}

func find(n uint64) int64 {
	if byName != nil {
		return byName[fmt.Sprintf("user-%d", n)].seen[0]
	}
	return records[offsets[n]].seen[0] + int64(len(fmt.Sprintf("user-%d", n)))
}

func main() {
	fill(os.Args[1])
	handler := func(w http.ResponseWriter, r *http.Request) {
		var lines []*line
		begin := turn.Add(1) * 7919
		sum := int64(0)
		for n := uint64(0); n < 2000; n++ {
			sum += find((begin + n*1009) % sessions)
		}
		for n := 0; n < 120_000; n++ {
			value := int64(n)
			lines = append(lines, &line{&value, sum})
		}
		fmt.Fprintln(w, len(lines))
	}
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(handler)))
}
