module pilot-agent.test/consul

go 1.25.9

require github.com/hashicorp/consul v1.22.7

// Consul is built with the api folder of its own repository, which is newer than the release it names.
replace github.com/hashicorp/consul/api => github.com/hashicorp/consul/api v1.34.1
