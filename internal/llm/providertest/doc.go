// Package providertest holds what every model provider has to do, as tests: an
// adapter runs them against a fake of its vendor's server. They know nothing of
// any vendor's protocol.
package providertest
