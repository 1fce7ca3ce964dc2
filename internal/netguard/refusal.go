package netguard

import "fmt"

// Refusal is why something may not be reached. Its text is a sentence for the
// model: it names no address that the model did not name itself, since what an
// inner name stands for is not its to know.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &Refusal{text: fmt.Sprintf(format, args...)} }

// refuseClass words the refusal of an address.
func refuseClass(what string, c Class, liftable bool) error {
	switch {
	case c == Metadata:
		return refuse("%s is where a cloud keeps its credentials: it is never reached", what)
	case liftable:
		return refuse("%s is a %s address, which may not be reached (an operator can allow it with tools.http.allow_private_networks)", what, c)
	default:
		return refuse("%s is a %s address, which may not be reached: use a public one", what, c)
	}
}
