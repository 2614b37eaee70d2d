/**
 * What the reference's public dashboards (mesh, service, workload) ask Prometheus, as one query for each way in which they use a metric and
 * its labels.
 */
export const DASHBOARD_QUERIES: readonly string[] = [
  'round(sum(irate(istio_requests_total{reporter="source"}[1m])), 0.001)',
  'sum(rate(istio_requests_total{reporter="source", response_code!~"5.*"}[1m])) / sum(rate(istio_requests_total{reporter="source"}[1m]))',
  'sum(irate(istio_requests_total{reporter=~"source|destination", response_code=~"4.*"}[1m])) or vector(0)',
  'label_join(sum(rate(istio_requests_total{reporter="source", response_code="200"}[1m])) by (destination_workload, destination_workload_namespace, destination_service), "destination_workload_var", ".", "destination_workload", "destination_workload_namespace")',
  'label_join(histogram_quantile(0.5, sum(rate(istio_request_duration_milliseconds_bucket{reporter="source"}[1m])) by (le, destination_workload, destination_workload_namespace, destination_service)) / 1000, "destination_workload_var", ".", "destination_workload", "destination_workload_namespace")',
  'sum(irate(istio_requests_total{reporter="destination", destination_service=~"web.default.svc.cluster.local"}[5m])) by (destination_service)',
  'sum(irate(istio_requests_total{connection_security_policy="mutual_tls", reporter="destination", response_code!~"5.*"}[5m])) by (source_workload, source_workload_namespace)',
  'round(sum(irate(istio_requests_total{connection_security_policy!="mutual_tls", reporter=~"source"}[5m])) by (source_workload, source_workload_namespace, response_code), 0.001)',
  'histogram_quantile(0.99, sum(irate(istio_request_duration_milliseconds_bucket{reporter="destination", destination_workload=~"web.*"}[1m])) by (le))',
  'histogram_quantile(0.95, sum(irate(istio_request_bytes_bucket{reporter="destination", connection_security_policy="mutual_tls"}[1m])) by (source_workload, source_workload_namespace, le))',
  'histogram_quantile(0.90, sum(irate(istio_response_bytes_bucket{reporter="source"}[1m])) by (destination_workload, le))',
  'sum(rate(istio_requests_total{reporter="destination", request_protocol="grpc", grpc_response_status="0"}[1m])) by (destination_workload)',
  'sum(rate(istio_tcp_received_bytes_total{reporter="destination", connection_security_policy="mutual_tls"}[1m])) by (destination_workload, destination_workload_namespace, destination_service)',
  'sum(rate(istio_tcp_sent_bytes_total{reporter="source"}[1m])) by (destination_service, source_workload)',
  "sum(istio_tcp_connections_opened_total) - sum(istio_tcp_connections_closed_total)",
  "sum(istio_requests_total) by (source_canonical_service, destination_canonical_service, source_canonical_revision, destination_canonical_revision, source_principal, destination_principal, response_flags, source_app, destination_app, destination_version)",
  "sum(envoy_server_live) or sum(envoy_server_uptime)",
];
