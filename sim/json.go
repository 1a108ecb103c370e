package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A value of a JSON document is a *object, []any, string, json.Number, bool or
// nil. encoding/json's own maps and structs won't do for a file that a person
// has written: they keep the last of two equal keys, and say neither where an
// unknown key or a value of the wrong type is, nor more than one at a time.

// An object is a JSON object with its keys in order. Its methods read one field
// each; what they find wrong goes to bad.
type object struct {
	path   string // "tenants[2]", or "" for the document
	keys   []string
	values map[string]any
	twice  []string // keys given twice
	bad    *[]*ValueError
	read   map[string]bool
}

// parse reads one JSON value and nothing after it.
func parse(data []byte) (any, error) {
	// This bounds the depth, which reading by token doesn't, and gives the
	// error of a malformed document.
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return parseValue(d)
}

func parseValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := &object{values: make(map[string]any)}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			k := key.(string) // the decoder has checked that
			if _, ok := o.values[k]; ok {
				o.twice = append(o.twice, k)
			} else {
				o.keys = append(o.keys, k)
			}
			o.values[k] = v
		}
		_, err = d.Token()
		return o, err
	}
	return token, nil
}

// A missing is the Value of an error about a field that isn't there.
type missing struct{}

func (missing) String() string { return "missing" }

// show makes a JSON value fit for an error message.
func show(v any) any {
	switch v := v.(type) {
	case nil:
		return "null"
	case *object:
		return "an object"
	case []any:
		return "a list"
	case json.Number:
		return v // prints like a number, unlike a string
	}
	return v
}

func (o *object) field(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func report(bad *[]*ValueError, field string, value any, want string) {
	*bad = append(*bad, &ValueError{Package: "sim", Field: field, Value: value, Want: want})
}

// take returns the value of a field, and false if there is none or it is null
// (which is an error). A missing field that is required is reported.
func (o *object) take(name, want string, required bool) (any, bool) {
	o.read[name] = true
	v, ok := o.values[name]
	switch {
	case !ok && required:
		report(o.bad, o.field(name), missing{}, want)
	case ok && v == nil:
		report(o.bad, o.field(name), show(v), want)
		ok = false
	}
	return v, ok
}

// text reads a string.
func (o *object) text(name string, required bool) string {
	const want = "a string"
	v, ok := o.take(name, want, required)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		report(o.bad, o.field(name), show(v), want)
	}
	return s
}

// duration reads a string such as "1.5s".
func (o *object) duration(name string, required bool) time.Duration {
	const want = `a duration such as "10ms" or "1m30s"`
	v, ok := o.take(name, want, required)
	if !ok {
		return 0
	}
	s, isString := v.(string)
	d, err := time.ParseDuration(s)
	if !isString || err != nil {
		report(o.bad, o.field(name), show(v), want)
	}
	return d
}

// boolean reads true or false, false if it isn't there.
func (o *object) boolean(name string) bool {
	v, ok := o.take(name, "true or false", false)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		report(o.bad, o.field(name), show(v), "true or false")
	}
	return b
}

// number reads a number that may have a fraction, nil if it isn't there or bad.
func (o *object) number(name string, required bool) *float64 {
	const want = "a number"
	v, ok := o.take(name, want, required)
	if !ok {
		return nil
	}
	n, isNumber := v.(json.Number)
	f, err := n.Float64()
	if !isNumber || err != nil {
		report(o.bad, o.field(name), show(v), want)
		return nil
	}
	return &f
}

// whole reads a whole number, without if it isn't there.
func (o *object) whole(name string, required bool, without int64) int64 {
	const want = "a whole number"
	v, ok := o.take(name, want, required)
	if !ok {
		return without
	}
	n, isNumber := v.(json.Number)
	i, err := n.Int64()
	if !isNumber || err != nil {
		report(o.bad, o.field(name), show(v), want)
	}
	return i
}

// count is whole for what is counted, which fits in 32 bits everywhere.
func (o *object) count(name string, required bool, without int) int {
	n := o.whole(name, required, int64(without))
	if n != int64(int32(n)) {
		report(o.bad, o.field(name), n, "a number below 2^31")
		return 0
	}
	return int(n)
}

// object reads an object by calling read with it, and reports what read didn't
// ask for. It returns false if there is none.
func (o *object) object(name string, required bool, read func(*object)) bool {
	const want = "an object"
	v, ok := o.take(name, want, required)
	if ok {
		readObject(v, o.field(name), o.bad, want, read)
	}
	return ok
}

// list reads a list by calling read with each element's path and value.
func (o *object) list(name string, required bool, read func(path string, v any)) {
	const want = "a list"
	v, ok := o.take(name, want, required)
	if !ok {
		return
	}
	list, ok := v.([]any)
	if !ok {
		report(o.bad, o.field(name), show(v), want)
	}
	for i, v := range list {
		read(at(o.field(name), i), v)
	}
}

// objects reads a list of objects.
func (o *object) objects(name string, required bool, read func(*object)) {
	o.list(name, required, func(path string, v any) {
		readObject(v, path, o.bad, "an object", read)
		if _, ok := v.(*object); !ok {
			// An empty one in its place, so that what read collects keeps the
			// file's indices. What it misses doesn't matter any more.
			readObject(&object{}, path, new([]*ValueError), "an object", read)
		}
	})
}

func readObject(v any, path string, bad *[]*ValueError, want string, read func(*object)) {
	o, ok := v.(*object)
	if !ok {
		report(bad, path, show(v), want)
		return
	}
	o.path, o.bad, o.read = path, bad, make(map[string]bool)
	read(o)
	for _, k := range o.keys {
		if !o.read[k] {
			report(bad, o.field(k), show(o.values[k]), "no such field")
		}
	}
	for _, k := range o.twice {
		report(bad, o.field(k), show(o.values[k]), "to be given once")
	}
}

// joinErrors joins what was found while reading with what Validate found, and
// leaves out what the latter says of fields that couldn't be read.
func joinErrors(bad []*ValueError, invalid error) error {
	var errs []error
	unread := make(map[string]bool)
	for _, e := range bad {
		errs = append(errs, e)
		unread[e.Field] = true
	}
	for _, err := range flatten(invalid) {
		var e *ValueError
		if !errors.As(err, &e) || !covered(unread, e.Field) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func flatten(err error) []error {
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	}
	return []error{err}
}

// covered says whether the field or one that contains it is in the set.
func covered(set map[string]bool, field string) bool {
	for !set[field] {
		i := strings.LastIndexAny(field, ".[")
		if i < 0 {
			return false
		}
		field = field[:i]
	}
	return true
}

// uint64Of returns a whole number from 0 on.
func uint64Of(v any) (uint64, bool) {
	n, _ := v.(json.Number)
	u, err := strconv.ParseUint(string(n), 10, 64)
	return u, err == nil
}
