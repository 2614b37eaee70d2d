/**
 * What `kubectl explain` says of each field. Messages are named without their package; a line is a field and its text. Fields of oneofs and
 * durations need not say so: the schema adds it.
 */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  VirtualService: `
    hosts: Hosts that the routes apply to: names of services, DNS names, wildcards such as *.example.com.
    gateways: Names of Gateways, or mesh for all sidecars, which is the default.
    http: Routes of HTTP traffic; the first one that matches is used.
    tls: Routes of TLS traffic that is passed through, by SNI.
    tcp: Routes of other TCP traffic.
    exportTo: Namespaces in which the rule is visible: . is its own one, * all of them.`,
  HTTPRoute: `
    name: Shown in access logs and metrics of the route.
    match: Conditions of which one has to hold; none matches every request.
    route: Where requests are forwarded to.
    redirect: Answers with a redirect.
    directResponse: Answers with a fixed status and body.
    delegate: Another VirtualService that has the routes from here on.
    rewrite: Changes path and authority before requests are forwarded.
    timeout: Longest time until the whole response has come.
    retries: When requests are tried again.
    fault: Delays and errors that are injected for tests.
    mirror: A copy of each request goes there; its response is ignored.
    mirrors: Several destinations for copies of requests.
    mirrorPercent: Deprecated, use mirrorPercentage.
    mirror_percent: Deprecated, use mirrorPercentage.
    mirrorPercentage: Share of requests that are copied; all by default.
    corsPolicy: Answers to cross-origin requests.
    headers: Changes of headers.`,
  HTTPMatchRequest: `
    name: Appended to the name of the route in access logs.
    uri: The path of the request.
    scheme: The scheme of the request.
    method: The method of the request.
    authority: The Host header, or :authority.
    headers: Headers by name in lower case; all have to match. An empty condition asks for presence only.
    port: Port of the host that is called.
    sourceLabels: Labels of the workload that calls.
    gateways: Gateways for which the condition is meant, instead of those of the rule.
    queryParams: Parameters of the query by name.
    ignoreUriCase: The path is compared without regard to case; not with regex.
    withoutHeaders: Headers that must not match.
    sourceNamespace: Namespace of the workload that calls.
    statPrefix: Prefix of the metrics of the route.`,
  StringMatch: `
    exact: The whole value.
    prefix: The beginning of the value.
    regex: RE2 expression for the whole value.`,
  HTTPRouteDestination: `
    destination: The service that is called.
    weight: Share of the traffic, relative to the sum of all weights.
    headers: Changes of headers for this destination.`,
  RouteDestination: `
    destination: The service that is called.
    weight: Share of the connections, relative to the sum of all weights.`,
  Destination: `
    host: Name of a service of the mesh; a short name is completed with the namespace of the rule.
    subset: Name of a subset in the service's DestinationRule.
    port: Port of the service; needed where it has several.`,
  PortSelector: `
    number: Number of the port.`,
  Headers: `
    request: Changes before the request is forwarded.
    response: Changes before the response is returned.`,
  "Headers.HeaderOperations": `
    set: Headers that replace those of the same name.
    add: Headers that are appended.
    remove: Names of headers that are removed.`,
  HTTPRedirect: `
    uri: New path.
    authority: New host.
    port: New port.
    derivePort: The port follows from the protocol or from the request.
    scheme: New scheme, http or https.
    redirectCode: Status of the answer; 301 by default.
    prefixRewrite: Replaces the part of the path that the prefix of the match found.`,
  HTTPDirectResponse: `
    status: Status of the answer.
    body: Body of the answer; none by default.`,
  HTTPBody: `
    string: Text of the body.
    bytes: Body in base64.`,
  Delegate: `
    name: Name of the VirtualService.
    namespace: Its namespace; that of the rule by default.`,
  HTTPRewrite: `
    uri: New path, or what replaces the prefix that the match found.
    authority: New Host header.
    uriRegexRewrite: Replaces parts of the path by an expression.`,
  RegexRewrite: `
    match: RE2 expression with groups.
    rewrite: What replaces the match; \\1 is the first group.`,
  HTTPRetry: `
    attempts: How often a request is tried again; 0 turns retries off.
    perTryTimeout: Longest time of one try; the timeout of the route by default.
    retryOn: Conditions and status codes, separated by commas, as Envoy has them.
    retryRemoteLocalities: Retries may go to other localities.
    retryIgnorePreviousHosts: Endpoints that failed may be tried again; false prefers others.
    backoff: Least time between tries.`,
  HTTPFaultInjection: `
    delay: Requests wait before they are forwarded.
    abort: Requests are answered with an error.`,
  "HTTPFaultInjection.Delay": `
    percent: Deprecated, use percentage.
    fixedDelay: How long.
    exponentialDelay: Not supported.
    percentage: Share of requests.`,
  "HTTPFaultInjection.Abort": `
    httpStatus: Status of the answer.
    grpcStatus: gRPC status of the answer, such as UNAVAILABLE.
    http2Error: Not supported.
    percentage: Share of requests.`,
  Percent: `
    value: From 0 to 100, with decimals.`,
  HTTPMirrorPolicy: `
    destination: Where copies of requests go.
    percentage: Share of requests that are copied.`,
  CorsPolicy: `
    allowOrigin: Deprecated, use allowOrigins.
    allowOrigins: Origins that may call.
    allowMethods: Methods that may be used.
    allowHeaders: Headers that may be sent.
    exposeHeaders: Headers that a page may read.
    maxAge: How long a browser may reuse the answer.
    allowCredentials: Cookies and the like may be sent.
    unmatchedPreflights: What happens to preflight requests of other origins.`,
  TLSRoute: `
    match: Conditions of which one has to hold.
    route: Where connections are forwarded to.`,
  TLSMatchAttributes: `
    sniHosts: Names in the SNI; wildcards such as *.com.
    destinationSubnets: Addresses that are called, with an optional prefix length.
    port: Port that is called.
    sourceLabels: Labels of the workload that calls.
    gateways: Gateways for which the condition is meant, instead of those of the rule.
    sourceNamespace: Namespace of the workload that calls.`,
  TCPRoute: `
    match: Conditions of which one has to hold; none matches every connection.
    route: Where connections are forwarded to.`,
  L4MatchAttributes: `
    destinationSubnets: Addresses that are called, with an optional prefix length.
    port: Port that is called.
    sourceSubnet: Deprecated, has no effect.
    sourceLabels: Labels of the workload that calls.
    gateways: Gateways for which the condition is meant, instead of those of the rule.
    sourceNamespace: Namespace of the workload that calls.`,
  DestinationRule: `
    host: Name of the service that the rule applies to; a short name is completed with the namespace of the rule.
    trafficPolicy: How the service is called.
    subsets: Named parts of the service's endpoints, such as versions.
    exportTo: Namespaces in which the rule is visible: . is its own one, * all of them.
    workloadSelector: Workloads of the namespace whose calls it applies to; all by default.`,
  TrafficPolicy: `
    loadBalancer: How an endpoint is chosen.
    connectionPool: Limits of connections and requests.
    outlierDetection: When failing endpoints are left out for a time.
    tls: TLS of connections to the service.
    portLevelSettings: Settings of single ports, instead of those above.
    tunnel: Connections go through a proxy that understands CONNECT.
    proxyProtocol: Connections begin with the PROXY protocol.
    retryBudget: Limit of retries at the same time.`,
  "TrafficPolicy.PortTrafficPolicy": `
    port: Port of the service.
    loadBalancer: How an endpoint is chosen.
    connectionPool: Limits of connections and requests.
    outlierDetection: When failing endpoints are left out for a time.
    tls: TLS of connections to the port.`,
  "TrafficPolicy.TunnelSettings": `
    protocol: CONNECT, which is the default, or POST.
    targetHost: Host that the tunnel leads to.
    targetPort: Port that the tunnel leads to.`,
  "TrafficPolicy.ProxyProtocol": `
    version: Version of the protocol; V1 by default.`,
  "TrafficPolicy.RetryBudget": `
    percent: Share of the active requests that may be retries; 20 by default.
    minRetryConcurrency: Retries that are always allowed; 3 by default.
    budgetInterval: Time over which the share is measured.`,
  LoadBalancerSettings: `
    simple: A policy without settings; LEAST_REQUEST by default.
    consistentHash: Equal requests go to the same endpoint.
    localityLbSetting: How traffic is spread over localities.
    zoneAwareLbSetting: How traffic is preferred in the zone of the caller.
    warmupDurationSecs: Deprecated, use warmup.
    warmup: New endpoints get their share little by little.`,
  "LoadBalancerSettings.ConsistentHashLB": `
    httpHeaderName: The header that is hashed.
    httpCookie: The cookie that is hashed; set where the request has none.
    useSourceIp: The address of the caller is hashed.
    httpQueryParameterName: The parameter of the query that is hashed.
    ringHash: Ring hashing.
    maglev: Maglev hashing.
    minimumRingSize: Deprecated, use ringHash.`,
  "LoadBalancerSettings.ConsistentHashLB.HTTPCookie": `
    name: Name of the cookie.
    path: Path of the cookie.
    ttl: Life of the cookie; 0s is a session cookie.
    attributes: Further attributes of the cookie.`,
  "LoadBalancerSettings.ConsistentHashLB.HTTPCookie.Attribute": `
    name: Name of the attribute.
    value: Value of the attribute.`,
  "LoadBalancerSettings.ConsistentHashLB.RingHash": `
    minimumRingSize: Least number of points on the ring; 1024 by default.`,
  "LoadBalancerSettings.ConsistentHashLB.MagLev": `
    tableSize: Size of the table, a prime number; 65537 by default.`,
  LocalityLoadBalancerSetting: `
    distribute: Shares by locality of the caller.
    failover: Region that takes over, by region of the caller.
    failoverPriority: Labels that endpoints should have in common with the caller, most important first.
    enabled: Overrides the setting of the mesh.`,
  "LocalityLoadBalancerSetting.Distribute": `
    from: Locality of the caller: region/zone/subzone, * at the end for all.
    to: Shares by locality; they add up to 100.`,
  "LocalityLoadBalancerSetting.Failover": `
    from: Region of the caller.
    to: Region that takes over.`,
  ZoneAwareLoadBalancerSetting: `
    enabled: Overrides the setting of the mesh.
    failover: Region that takes over, by region of the caller.
    failoverPriority: Labels that endpoints should have in common with the caller, most important first.
    minClusterSize: Fewer endpoints than this are not treated by zone.`,
  "ZoneAwareLoadBalancerSetting.Failover": `
    from: Region of the caller.
    to: Region that takes over.`,
  WarmupConfiguration: `
    duration: How long an endpoint counts as new.
    minimumPercent: Share at the beginning; 10 by default.
    aggression: How the share grows; 1 is linear.`,
  ConnectionPoolSettings: `
    tcp: Of all connections.
    http: Of HTTP.`,
  "ConnectionPoolSettings.TCPSettings": `
    maxConnections: Connections to an endpoint at the same time.
    connectTimeout: Longest time until a connection is there; 10s by default.
    tcpKeepalive: Probes of idle connections.
    maxConnectionDuration: Longest life of a connection.
    idleTimeout: Idle connections are closed after this time; 1h by default.`,
  "ConnectionPoolSettings.TCPSettings.TcpKeepalive": `
    probes: Unanswered probes after which a connection is dead.
    time: Idle time before the first probe.
    interval: Time between probes.`,
  "ConnectionPoolSettings.HTTPSettings": `
    http1MaxPendingRequests: Requests that may wait for a connection.
    http2MaxRequests: Requests at the same time.
    maxRequestsPerConnection: Requests after which a connection is closed; 1 turns keep-alive off.
    maxRetries: Retries at the same time.
    idleTimeout: Connections without requests are closed after this time; 1h by default.
    h2UpgradePolicy: Whether HTTP/1.1 is upgraded to HTTP/2.
    useClientProtocol: The version of HTTP that the caller used is used.
    maxConcurrentStreams: Requests at the same time on one connection.
    http2KeepAlive: Pings on HTTP/2 connections.`,
  "ConnectionPoolSettings.HTTPSettings.ConnectionKeepalive": `
    interval: Time between pings.
    timeout: Longest time until a ping is answered.`,
  OutlierDetection: `
    consecutiveErrors: Deprecated, use consecutiveGatewayErrors.
    splitExternalLocalOriginErrors: Errors of the connection are counted apart from those of the service.
    consecutiveLocalOriginFailures: Errors of the connection in a row after which an endpoint is left out.
    consecutiveGatewayErrors: Answers 502, 503 and 504 in a row after which an endpoint is left out.
    consecutive5xxErrors: Answers 5xx in a row after which an endpoint is left out.
    interval: Time between checks; 10s by default.
    baseEjectionTime: How long an endpoint is left out, times how often it was; 30s by default.
    maxEjectionPercent: Share of endpoints that may be left out; 10 by default.
    minHealthPercent: With fewer healthy endpoints than this all of them are used.
    outlierDetectionHttpErrorCodes: Status codes that count as errors.`,
  ClientTLSSettings: `
    mode: Whether TLS is used, and whose certificate is shown.
    clientCertificate: File of the certificate; with MUTUAL.
    privateKey: File of the key; with MUTUAL.
    caCertificates: File of the roots that vouch for the server.
    credentialName: Secret with certificate, key and roots; at gateways, or with a selector.
    subjectAltNames: Names of which the server's certificate must have one.
    sni: SNI of the connection.
    insecureSkipVerify: The server's certificate is not verified.
    caCrl: File of revoked certificates.`,
  Subset: `
    name: Name of the subset, used in routes.
    labels: Labels of its endpoints.
    trafficPolicy: Settings of the subset, over those of the service.`,
  WorkloadSelector: `
    labels: Labels that a workload must have; all of them.
    matchLabels: Labels that a workload must have; all of them.`,
  ServiceEntry: `
    hosts: Names of the service.
    addresses: Virtual addresses of the service, with an optional prefix length.
    ports: Ports of the service.
    location: Whether the service is part of the mesh.
    resolution: How addresses of endpoints are found.
    endpoints: Endpoints of the service.
    workloadSelector: Workload entries and pods of the namespace that are its endpoints.
    exportTo: Namespaces in which the service is visible: . is its own one, * all of them.
    subjectAltNames: Names of which the certificates of endpoints must have one.`,
  ServicePort: `
    number: Number of the port.
    protocol: HTTP, HTTPS, GRPC, HTTP2, MONGO, TCP or TLS.
    name: Name of the port.
    targetPort: Port of the endpoints; the same number by default.`,
  WorkloadEntry: `
    address: IP address, DNS name or unix:// path.
    ports: Numbers of ports by name, where they differ from those of the service.
    labels: Labels of the workload.
    network: Network of the workload.
    locality: Region, zone and subzone: region/zone/subzone.
    weight: Share of the traffic, relative to other endpoints.
    serviceAccount: Service account of the workload, in its namespace.`,
  WorkloadGroup: `
    metadata: Labels and annotations of its workload entries.
    template: What its workload entries have in common.
    probe: How the agent of a workload tests its application.`,
  "WorkloadGroup.ObjectMeta": `
    labels: Labels.
    annotations: Annotations.`,
  ReadinessProbe: `
    initialDelaySeconds: Seconds before the first test.
    timeoutSeconds: Seconds that a test may take; 1 by default.
    periodSeconds: Seconds between tests; 10 by default.
    successThreshold: Successes in a row that make it healthy; 1 by default.
    failureThreshold: Failures in a row that make it unhealthy; 3 by default.
    httpGet: A GET request.
    tcpSocket: A connection.
    exec: A program whose exit code is 0.
    grpc: gRPC's health service.`,
  HTTPHealthCheckConfig: `
    path: Path of the request.
    port: Port of the application.
    host: Host header; the address by default.
    scheme: HTTP or HTTPS.
    httpHeaders: Further headers.`,
  HTTPHeader: `
    name: Name of the header.
    value: Value of the header.`,
  TCPHealthCheckConfig: `
    host: Address; localhost by default.
    port: Port of the application.`,
  ExecHealthCheckConfig: `
    command: Program and arguments.`,
  GrpcHealthCheckConfig: `
    port: Port of the application.
    service: Name of the service that is asked about.`,
  Sidecar: `
    workloadSelector: Workloads of the namespace it applies to; all by default.
    ingress: Ports of the workload; those of its services by default.
    egress: What the workload may call; everything that is visible by default.
    inboundConnectionPool: Limits of connections and requests to the workload.
    outboundTrafficPolicy: What happens to calls of unknown hosts.`,
  IstioIngressListener: `
    port: Port that others call.
    bind: Address that the proxy listens on.
    captureMode: Whether traffic is captured.
    defaultEndpoint: Where the application listens: 127.0.0.1:PORT, 0.0.0.0:PORT or unix:///path.
    tls: TLS of the port.
    connectionPool: Limits of connections and requests.`,
  IstioEgressListener: `
    port: Port or socket of the listener; without it, all that has no listener of its own.
    bind: Address that the proxy listens on.
    captureMode: Whether traffic is captured.
    hosts: NAMESPACE/HOST of services that may be called; . is the own namespace, * all of them.`,
  SidecarPort: `
    number: Number of the port.
    protocol: HTTP, HTTPS, GRPC, HTTP2, MONGO, TCP or TLS.
    name: Name of the port.
    targetPort: Has no effect.`,
  OutboundTrafficPolicy: `
    mode: ALLOW_ANY lets calls of unknown hosts pass, REGISTRY_ONLY refuses them.
    egressProxy: Proxy that calls of unknown hosts go to.`,
  Gateway: `
    servers: Ports of the gateway and what is served on them.
    selector: Labels of the gateway's pods.`,
  Server: `
    port: Port that is listened on.
    bind: Address that is listened on.
    hosts: [NAMESPACE/]HOST of the services that are exposed; * is all.
    tls: TLS of the port.
    defaultEndpoint: Has no effect.
    name: Name of the server.`,
  Port: `
    number: Number of the port.
    protocol: HTTP, HTTPS, GRPC, HTTP2, MONGO, TCP or TLS.
    name: Name of the port.
    targetPort: Has no effect.`,
  ServerTLSSettings: `
    httpsRedirect: Plaintext requests are redirected to HTTPS.
    mode: Who ends TLS, and whether clients show a certificate.
    serverCertificate: File of the certificate.
    privateKey: File of the key.
    caCertificates: File of the roots that vouch for clients.
    caCrl: File of revoked certificates.
    credentialName: Secret with certificate and key, in the gateway's namespace.
    credentialNames: Secrets with certificates of different key types.
    caCertCredentialName: Secret or ConfigMap with the roots that vouch for clients.
    tlsCertificates: Files of certificates of different key types.
    subjectAltNames: Names of which a client's certificate must have one.
    verifyCertificateSpki: Hashes of public keys that clients may have.
    verifyCertificateHash: Hashes of certificates that clients may have.
    minProtocolVersion: Oldest version of TLS.
    maxProtocolVersion: Newest version of TLS.
    cipherSuites: Cipher suites that may be used.
    insecureSkipVerify: Certificates of clients are not verified.`,
  "ServerTLSSettings.TLSCertificate": `
    serverCertificate: File of the certificate.
    privateKey: File of the key.
    caCertificates: File of the roots.`,
  EnvoyFilter: `
    workloadSelector: Workloads of the namespace it applies to; all by default.
    targetRefs: Gateways it applies to.
    configPatches: Changes of Envoy's configuration, in order.
    priority: Filters with lower numbers are applied first.`,
  "EnvoyFilter.EnvoyConfigObjectPatch": `
    applyTo: What is changed.
    match: Where it is changed.
    patch: How it is changed.`,
  "EnvoyFilter.EnvoyConfigObjectMatch": `
    context: Which side of which proxy.
    proxy: Conditions on the proxy.
    listener: Conditions on the listener.
    routeConfiguration: Conditions on the route configuration.
    cluster: Conditions on the cluster.
    waypoint: Conditions on the waypoint.`,
  "EnvoyFilter.ProxyMatch": `
    proxyVersion: RE2 expression for the version of the proxy.
    metadata: Metadata of the proxy's node.`,
  "EnvoyFilter.ListenerMatch": `
    portNumber: Port of the listener.
    portName: Name of the port.
    filterChain: Conditions on a filter chain.
    listenerFilter: Name of a listener filter.
    name: Name of the listener.`,
  "EnvoyFilter.ListenerMatch.FilterChainMatch": `
    name: Name of the filter chain.
    sni: SNI of the filter chain.
    transportProtocol: raw_buffer or tls.
    applicationProtocols: ALPN of the filter chain, separated by commas.
    filter: Conditions on a filter.
    destinationPort: Port of the filter chain.`,
  "EnvoyFilter.ListenerMatch.FilterMatch": `
    name: Name of the network filter.
    subFilter: Conditions on an HTTP filter in it.`,
  "EnvoyFilter.ListenerMatch.SubFilterMatch": `
    name: Name of the HTTP filter.`,
  "EnvoyFilter.RouteConfigurationMatch": `
    portNumber: Port of the routes.
    portName: Name of the port.
    gateway: NAMESPACE/NAME of the Gateway.
    vhost: Conditions on a virtual host.
    name: Name of the route configuration.`,
  "EnvoyFilter.RouteConfigurationMatch.VirtualHostMatch": `
    name: Name of the virtual host, HOST:PORT.
    domainName: A domain of the virtual host.
    route: Conditions on a route.`,
  "EnvoyFilter.RouteConfigurationMatch.RouteMatch": `
    name: Name of the route.
    action: What the route does.`,
  "EnvoyFilter.ClusterMatch": `
    portNumber: Port of the service.
    service: Name of the service.
    subset: Name of the subset.
    name: Name of the cluster.`,
  "EnvoyFilter.WaypointMatch": `
    portNumber: Port of the service.
    route: Conditions on a route.
    filter: Conditions on a filter.`,
  "EnvoyFilter.WaypointMatch.RouteMatch": `
    name: Name of the route.`,
  "EnvoyFilter.WaypointMatch.FilterMatch": `
    name: Name of the network filter.
    subFilter: Conditions on an HTTP filter in it.`,
  "EnvoyFilter.WaypointMatch.FilterMatch.SubFilterMatch": `
    name: Name of the HTTP filter.`,
  "EnvoyFilter.Patch": `
    operation: How value is applied.
    value: Part of Envoy's configuration, in its JSON form.
    filterClass: Position of an added filter.`,
  ProxyConfig: `
    selector: Workloads of the namespace it applies to; all by default.
    concurrency: Worker threads of Envoy; 0 is one per processor.
    environmentVariables: Variables of the proxy.
    image: Image of the proxy.`,
  ProxyImage: `
    imageType: Variant of the image: default, debug or distroless.`,
  PeerAuthentication: `
    selector: Workloads of the namespace it applies to; all by default.
    mtls: Mutual TLS of all ports.
    portLevelMtls: Mutual TLS by port of the workload.`,
  "PeerAuthentication.MutualTLS": `
    mode: STRICT asks for it, PERMISSIVE allows plaintext too, DISABLE is plaintext only, UNSET inherits.`,
  RequestAuthentication: `
    selector: Workloads of the namespace it applies to; all by default.
    targetRef: Deprecated, use targetRefs.
    targetRefs: Gateways and services it applies to.
    jwtRules: Issuers whose tokens are accepted.`,
  JWTRule: `
    issuer: Issuer of the token.
    audiences: Audiences of which the token must have one.
    jwksUri: Where the issuer's keys are read from.
    jwks_uri: Deprecated, use jwksUri.
    jwks: The issuer's keys.
    fromHeaders: Headers that have the token; Authorization by default.
    fromParams: Parameters of the query that have the token; access_token by default.
    outputPayloadToHeader: Header that the verified payload is forwarded in, in base64.
    fromCookies: Cookies that have the token.
    forwardOriginalToken: The token is forwarded too.
    outputClaimToHeaders: Claims that are forwarded in headers.
    timeout: Longest time until the keys are read; 5s by default.
    spaceDelimitedClaims: Claims that are lists separated by spaces.`,
  JWTHeader: `
    name: Name of the header.
    prefix: What stands before the token.`,
  ClaimToHeader: `
    header: Name of the header.
    claim: Name of the claim.`,
  AuthorizationPolicy: `
    selector: Workloads of the namespace it applies to; all by default.
    targetRef: Deprecated, use targetRefs.
    targetRefs: Gateways and services it applies to.
    rules: A request matches when one rule does. None with ALLOW denies everything.
    action: What happens to requests that match; ALLOW by default.
    provider: Extension provider that decides; with CUSTOM.`,
  "AuthorizationPolicy.ExtensionProvider": `
    name: Name of the provider in the mesh config.`,
  Rule: `
    from: Who calls; one entry has to match.
    to: What is called; one entry has to match.
    when: Further conditions; all have to hold.`,
  "Rule.From": `
    source: The caller.`,
  Source: `
    principals: Identities: TRUST-DOMAIN/ns/NAMESPACE/sa/ACCOUNT; * at either end.
    notPrincipals: Identities that do not match.
    requestPrincipals: ISSUER/SUBJECT of the request's token.
    notRequestPrincipals: ISSUER/SUBJECT that do not match.
    namespaces: Namespaces of the identity.
    notNamespaces: Namespaces that do not match.
    serviceAccounts: [NAMESPACE/]ACCOUNT of the identity.
    notServiceAccounts: [NAMESPACE/]ACCOUNT that do not match.
    ipBlocks: Addresses that the connection comes from, with an optional prefix length.
    notIpBlocks: Addresses that do not match.
    remoteIpBlocks: Addresses of the original client, as X-Forwarded-For or the PROXY protocol has them.
    notRemoteIpBlocks: Addresses of the original client that do not match.
    trustDomains: Trust domains of the identity.
    notTrustDomains: Trust domains that do not match.`,
  "Rule.To": `
    operation: The request.`,
  Operation: `
    hosts: Hosts of the request.
    notHosts: Hosts that do not match.
    ports: Ports of the connection.
    notPorts: Ports that do not match.
    methods: Methods of the request.
    notMethods: Methods that do not match.
    paths: Paths of the request; * at either end, {*} and {**} in templates.
    notPaths: Paths that do not match.`,
  Condition: `
    key: Name of an attribute, such as request.headers[x] or source.ip.
    values: Values of which one has to match.
    notValues: Values of which none may match.`,
  PolicyTargetReference: `
    group: API group of the target; empty for Service.
    kind: Kind of the target.
    name: Name of the target.
    namespace: Has to be empty: the target is in the namespace of the rule.`,
  Telemetry: `
    selector: Workloads of the namespace it applies to; all by default.
    targetRef: Deprecated, use targetRefs.
    targetRefs: Gateways and services it applies to.
    tracing: Tracing of requests.
    metrics: Metrics of requests and connections.
    accessLogging: Access logs.`,
  Tracing: `
    match: Which side of a call it applies to.
    providers: Extension providers of the mesh config; only one is used.
    randomSamplingPercentage: Share of requests without a decision yet that are traced.
    disableSpanReporting: Spans are not reported.
    customTags: Further tags of spans by name.
    useRequestIdForTraceSampling: The decision is written into the request id.
    enableIstioTags: Spans have the tags of the mesh; true by default.
    disableContextPropagation: Headers of traces are not added to requests.`,
  "Tracing.TracingSelector": `
    mode: CLIENT, SERVER or both.`,
  ProviderRef: `
    name: Name of the provider in the mesh config.`,
  "Tracing.CustomTag": `
    literal: A fixed value.
    environment: A variable of the proxy.
    header: A header of the request.
    formatter: A format of Envoy's access log.`,
  "Tracing.Literal": `
    value: The value.`,
  "Tracing.Environment": `
    name: Name of the variable.
    defaultValue: Value where the variable is not set.`,
  "Tracing.RequestHeader": `
    name: Name of the header.
    defaultValue: Value where the header is absent.`,
  "Tracing.Formatter": `
    value: The format.`,
  Metrics: `
    providers: Extension providers of the mesh config.
    overrides: Changes of metrics, in order.
    reportingInterval: Time between reports of open TCP connections; 5s by default.`,
  MetricsOverrides: `
    match: Which metrics.
    disabled: The metrics are off.
    tagOverrides: Changes of tags by name.`,
  MetricSelector: `
    metric: A metric of the mesh.
    customMetric: A metric by name.
    mode: CLIENT, SERVER or both.`,
  "MetricsOverrides.TagOverride": `
    operation: UPSERT sets the tag, REMOVE leaves it out.
    value: CEL expression of the value; with UPSERT.`,
  AccessLogging: `
    match: Which side of a call it applies to.
    providers: Extension providers of the mesh config.
    disabled: The log is off.
    filter: Which requests are logged.`,
  "AccessLogging.LogSelector": `
    mode: CLIENT, SERVER or both.`,
  "AccessLogging.Filter": `
    expression: CEL expression that is true for requests that are logged.`,
  WasmPlugin: `
    selector: Workloads of the namespace it applies to; all by default.
    targetRef: Deprecated, use targetRefs.
    targetRefs: Gateways it applies to.
    url: Where the module is: oci:// (the default), https://, http:// or file://.
    sha256: Checksum of the module.
    imagePullPolicy: When the image is read again.
    imagePullSecret: Secret with the credentials of the registry.
    verificationKey: Has no effect.
    pluginConfig: Configuration of the plugin.
    pluginName: Name by which the module knows the plugin.
    phase: Position among the filters.
    priority: Plugins of a phase with higher numbers come first.
    failStrategy: What happens to requests when the plugin fails.
    vmConfig: Settings of the virtual machine.
    match: Traffic it applies to; all by default.
    type: HTTP or network filter.`,
  "WasmPlugin.TrafficSelector": `
    mode: CLIENT, SERVER or both.
    ports: Ports; all by default.`,
  VmConfig: `
    env: Variables that the module sees.`,
  EnvVar: `
    name: Name of the variable.
    valueFrom: Where its value comes from.
    value: Its value; with INLINE.`,
  TrafficExtension: `
    selector: Workloads of the namespace it applies to; all by default.
    targetRefs: Gateways it applies to.
    phase: Position among the filters.
    priority: Extensions of a phase with higher numbers come first.
    match: Traffic it applies to; all by default.
    wasm: A WebAssembly module.
    lua: A Lua script.`,
  TrafficSelector: `
    mode: CLIENT, SERVER or both.
    ports: Ports; all by default.`,
  WasmConfig: `
    url: Where the module is: oci:// (the default), https://, http:// or file://.
    sha256: Checksum of the module.
    imagePullPolicy: When the image is read again.
    imagePullSecret: Secret with the credentials of the registry.
    verificationKey: Has no effect.
    pluginConfig: Configuration of the plugin.
    pluginName: Name by which the module knows the plugin.
    failStrategy: What happens to requests when the plugin fails.
    vmConfig: Settings of the virtual machine.
    type: HTTP or network filter.`,
  LuaConfig: `
    inlineCode: The script.`,
};
