package openapi

// Operation describes an endpoint.
type Operation struct {
	Tag         string // the resource it belongs to
	Summary     string // one line
	Description string // what the summary leaves open
	Query       []Param
	Body        any // a value of the type of the request's body; nil = none
	Answers     []Answer
}

// Param is a parameter of the query. None is required.
type Param struct {
	Name        string
	Description string
	Number      bool     // a whole number, else a text
	Min, Max    int64    // of a number; 0 = no bound
	Default     int64    // of a number; 0 = none
	Values      []string // of a text: the only ones; none = any
}

// Answer is a way in which an endpoint answers. What goes wrong is the same for all of
// them and need not be listed.
type Answer struct {
	Status      int
	Description string
	Body        any    // a value of the type of the body, or a List; nil = there is none
	Media       string // of a body that is not JSON, which is a text then
}

// List stands for a list of its item's type, as all lists are answered.
type List struct{ Item any }
