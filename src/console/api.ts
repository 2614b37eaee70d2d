/**
 * The HTTP API between the console's page and its server: types alone, imported by both sides; `api/` has a file per topic. Changed by adding
 * only.
 *
 * Everything is below `/api/` on the address that served the page, JSON unless said otherwise, and needs the session cookie, which the
 * link with the token sets (`GET /?token=T` answers 303 to `/`). Without it every path of `/api/` answers 401; a foreign Host, Origin or
 * Sec-Fetch-Site answers 403. The page's own files are served without a cookie: they hold nothing.
 *
 * Requests with a body are `Content-Type: application/json` (415 otherwise), 1 MiB at most (413). Every answer that is not 2xx is an
 * `ApiError`. Times are milliseconds since 1970 (`...At`), durations are milliseconds (`...Ms`), shares are 0 to 1.
 *
 * | request | answer |
 * |---|---|
 * | GET /api/session | `Session` |
 * | GET /api/events | server-sent events, `ConsoleEvents` |
 * | GET /api/graph | `GraphSnapshot`, the last one |
 * | GET /api/history?from=&to= | `GraphHistory`; both optional, milliseconds since 1970 |
 * | GET /api/workloads | `WorkloadSummary[]` |
 * | GET /api/workloads/{id} | `WorkloadDetail` |
 * | GET /api/workloads/{id}/logs?part=&tail= | server-sent events, `LogEvents` |
 * | GET /api/workloads/{id}/log-levels | `LogLevels` |
 * | POST /api/workloads/{id}/log-levels | `LogLevelChange` -> `LogLevels` |
 * | GET /api/requests?workload=&to=&direction= | server-sent events, `RequestEvents` |
 * | GET /api/actions | `ActionList` |
 * | POST /api/actions/preview | `ActionRequest` -> `ActionPreview` |
 * | POST /api/actions | `ActionRequest` -> 201 `AppliedAction` |
 * | POST /api/actions/{id}/undo | `AppliedAction` (empty body `{}`) |
 * | GET /api/objects | `ObjectList` |
 * | GET /api/objects/{kind}/{namespace}/{name} | `ObjectDetail` |
 * | POST /api/objects/validate | `ObjectText` -> `Validation`, also 200 when there are problems |
 * | POST /api/objects | `ObjectText` -> `ObjectChange`; 422 with `problems` when refused |
 * | DELETE /api/objects/{kind}/{namespace}/{name} | `ObjectChange` |
 * | GET /api/schemas | `SchemaList` |
 * | GET /api/schemas/{kind} | `ObjectSchema` |
 *
 * Segments in braces are escaped with `encodeURIComponent`; a workload's id may hold a slash.
 */

export type * from "./api/actions.ts";
export type * from "./api/events.ts";
export type * from "./api/graph.ts";
export type * from "./api/objects.ts";
export type * from "./api/problems.ts";
export type * from "./api/proxy-config.ts";
export type * from "./api/session.ts";
export type * from "./api/tails.ts";
export type * from "./api/workloads.ts";
