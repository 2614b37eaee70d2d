import { expect, test } from "vitest";
import { foreignPageProblem, isLocalCaller, refuseForeignPages } from "./local-caller.ts";

const HOST = "localhost:15020";

test.each([
  {},
  { host: HOST },
  { host: "127.0.0.1" },
  { host: "[::1]:15020" },
  { host: HOST, origin: `http://${HOST}` },
  { host: HOST, "sec-fetch-site": "same-origin" },
  { host: HOST, "sec-fetch-site": "none" },
])("a program, or a page of this server, with %j passes", (headers) => {
  expect(foreignPageProblem({ headers })).toBeUndefined();
  expect(isLocalCaller({ peerAddress: "127.0.0.1", headers })).toBe(true);
  expect(isLocalCaller({ peerAddress: "10.0.0.7", headers })).toBe(false);
});

test.each([
  { headers: { host: "rebound.example:15020" }, says: 'Host is "rebound.example:15020"; allowed are localhost' },
  { headers: { host: "10.0.0.7:15020" }, says: 'Host is "10.0.0.7:15020"' },
  { headers: { host: HOST, origin: "https://evil.example" }, says: 'Origin is "https://evil.example"' },
  { headers: { host: HOST, origin: "null" }, says: 'Origin is "null"' },
  { headers: { host: HOST, origin: "http://localhost:3000" }, says: 'Origin is "http://localhost:3000"' },
  { headers: { host: HOST, "sec-fetch-site": "cross-site" }, says: 'Sec-Fetch-Site is "cross-site"' },
  { headers: { host: HOST, "sec-fetch-site": "same-site" }, says: 'Sec-Fetch-Site is "same-site"' },
])("a page of another server is refused: $says", ({ headers, says }) => {
  const request = { headers, peerAddress: "127.0.0.1" };
  expect(foreignPageProblem(request)).toContain(says);
  expect(isLocalCaller(request)).toBe(false);
  expect(refuseForeignPages(request)).toMatchObject({ status: 403, body: expect.stringContaining(says) });
});
