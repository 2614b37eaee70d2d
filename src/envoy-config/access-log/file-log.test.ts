import { expect, test } from "vitest";
import type { AccessLogSettings } from "../../mesh-model/mesh-settings.ts";
import { buildAccessLogs, DEFAULT_JSON_FORMAT, DEFAULT_TEXT_FORMAT } from "./file-log.ts";

const settings = (given: Partial<AccessLogSettings>): AccessLogSettings => ({
  file: "/dev/stdout",
  format: "",
  encoding: "TEXT",
  ...given,
});
const formatOf = (given: Partial<AccessLogSettings>) =>
  (buildAccessLogs(settings(given)).traffic[0]?.typedConfig as { logFormat?: unknown } | undefined)?.logFormat;

test("without a file nothing is written", () => {
  expect(buildAccessLogs(settings({ file: "" }))).toEqual({ traffic: [], listener: [] });
});

test("a listener tells only of connections without chain", () => {
  const { traffic, listener } = buildAccessLogs(settings({}));
  expect(traffic).toMatchObject([{ name: "envoy.access_loggers.file", typedConfig: { path: "/dev/stdout" } }]);
  expect(listener).toEqual([{ ...traffic[0], filter: { responseFlagFilter: { flags: ["NR"] } } }]);
});

test("the default line is the one that log readers know", () => {
  expect(DEFAULT_TEXT_FORMAT).toBe(
    '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ' +
      "%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% " +
      '"%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ' +
      '%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" ' +
      '"%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% ' +
      "%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%\n",
  );
  expect(Object.keys(DEFAULT_JSON_FORMAT)).toHaveLength(24);
});

test.each([
  { given: {}, format: { textFormatSource: { inlineString: DEFAULT_TEXT_FORMAT } } },
  { given: { format: "%PROTOCOL%" }, format: { textFormatSource: { inlineString: "%PROTOCOL%\n" } } },
  { given: { format: "%PROTOCOL%\n" }, format: { textFormatSource: { inlineString: "%PROTOCOL%\n" } } },
  { given: { encoding: "JSON" }, format: { jsonFormat: DEFAULT_JSON_FORMAT, jsonFormatOptions: {} } },
  {
    given: { encoding: "JSON", format: '{"p": "%PROTOCOL%", "n": {"m": "%REQ(:METHOD)%"}}' },
    format: { jsonFormat: { p: "%PROTOCOL%", n: { m: "%REQ(:METHOD)%" } }, jsonFormatOptions: {} },
  },
  {
    given: { encoding: "JSON", format: "no json" },
    format: { jsonFormat: DEFAULT_JSON_FORMAT, jsonFormatOptions: {} },
  },
  { given: { encoding: "JSON", format: "[1]" }, format: { jsonFormat: DEFAULT_JSON_FORMAT, jsonFormatOptions: {} } },
] as const)("settings $given write $format", ({ given, format }) => {
  expect(formatOf(given)).toEqual(format);
});
