package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// The addresses used where the config names none.
const (
	DefaultAddress   = "127.0.0.1:7233"
	DefaultUIAddress = "127.0.0.1:8233"
)

const (
	defaultNamespace     = "default"
	defaultRetentionDays = 7
)

// DefaultSearchAttributes are the search attributes of every PicoBot namespace.
func DefaultSearchAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		"PicobotSession": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"PicobotChannel": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"PicobotJob":     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	}
}

// Options say what to run. Only Dir has no default.
type Options struct {
	// Dir holds the engine's files. It is made if missing.
	Dir string

	// Address is host:port for Temporal clients; port 0 takes any free one.
	Address string
	// AddressFixed makes a taken Address an error instead of a reason to use
	// another port.
	AddressFixed bool
	// UIAddress and UIFixed are the same for the web UI.
	UIAddress string
	UIFixed   bool
	// NoUI leaves the web UI out.
	NoUI bool

	// APIKey, when set, is asked of every Temporal client (as a bearer token)
	// and of the web UI's users. Without it whoever reaches the ports is let in.
	APIKey string

	Namespace     string
	RetentionDays int
	// SearchAttributes defaults to DefaultSearchAttributes.
	SearchAttributes map[string]enumspb.IndexedValueType

	// Stock leaves the server as `temporal server start-dev` has it: stock poll
	// rates, every commit synced. It is what benchmarks compare with.
	Stock bool

	// Build names the PicoBot build; see Server.BuildChanged.
	Build string

	// Logger gets the server's warnings and errors.
	Logger *slog.Logger
	// Now is the clock that dates set-aside files.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = DefaultAddress
	}
	if o.UIAddress == "" {
		o.UIAddress = DefaultUIAddress
	}
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	if o.RetentionDays == 0 {
		o.RetentionDays = defaultRetentionDays
	}
	if o.SearchAttributes == nil {
		o.SearchAttributes = DefaultSearchAttributes()
	}
	o.SearchAttributes = maps.Clone(o.SearchAttributes)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func (o Options) validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("the engine needs a directory for its files"))
	}
	if o.RetentionDays < 1 {
		errs = append(errs, fmt.Errorf("retention is %d days: it must be at least one", o.RetentionDays))
	}
	addrs := []string{o.Address}
	if !o.NoUI {
		addrs = append(addrs, o.UIAddress)
	}
	for _, addr := range addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			errs = append(errs, fmt.Errorf("address %q is not host:port: %w", addr, err))
		}
	}
	return errors.Join(errs...)
}

func (o Options) retention() time.Duration {
	return time.Duration(o.RetentionDays) * 24 * time.Hour
}
