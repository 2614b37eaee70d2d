import { expect, test } from "vitest";
import { connectionFailureText } from "./connection-failure.ts";

const openssl = Object.assign(new Error("80FC43:error:0A00045C:SSL routines:ssl3_read_bytes:alert:../deps/x.c:1"), {
  library: "SSL routines",
  reason: "tlsv13 alert certificate required",
});

test.each([
  { name: "a system error", failure: new Error("connect ECONNREFUSED ::1:80"), text: "connect ECONNREFUSED ::1:80" },
  { name: "an OpenSSL error", failure: openssl, text: "tlsv13 alert certificate required" },
  {
    name: "several addresses",
    failure: new AggregateError([new Error("a"), openssl]),
    text: "a, tlsv13 alert certificate required",
  },
  { name: "something else", failure: "plain text", text: "plain text" },
])("$name reads as $text", ({ failure, text }) => {
  expect(connectionFailureText(failure)).toBe(text);
});
