import { expect, test } from "vitest";
import { delayApplicationStop } from "./stop-delay.ts";

const pod = (delay: string | undefined, spec: object = {}) => ({
  metadata: { annotations: delay === undefined ? {} : { "inject.pilot-agent.io/application-stop-delay": delay } },
  spec: {
    containers: [
      { name: "app" },
      { name: "own", lifecycle: { preStop: { exec: { command: ["flush"] } } } },
      { name: "begins", lifecycle: { postStart: { exec: { command: ["warm"] } } } },
      { name: "istio-proxy" },
    ],
    ...spec,
  },
});

test("applications without a hook of their own are stopped later, the proxy is not, and a second time changes nothing", () => {
  const delayed = delayApplicationStop(pod("5s"));
  expect(delayed.spec).toEqual({
    containers: [
      { name: "app", lifecycle: { preStop: { sleep: { seconds: 5 } } } },
      { name: "own", lifecycle: { preStop: { exec: { command: ["flush"] } } } },
      {
        name: "begins",
        lifecycle: { postStart: { exec: { command: ["warm"] } }, preStop: { sleep: { seconds: 5 } } },
      },
      { name: "istio-proxy" },
    ],
  });
  expect(delayApplicationStop(delayed)).toEqual(delayed);
});

test("a pod that asks for nothing stays as it is", () => {
  const given = pod(undefined);
  expect(delayApplicationStop(given)).toBe(given);
});

test.each([
  { delay: "soon", spec: {}, limit: 30 },
  { delay: "0s", spec: {}, limit: 30 },
  { delay: "1m", spec: {}, limit: 30 },
  { delay: "30s", spec: {}, limit: 30 },
  { delay: "5", spec: { terminationGracePeriodSeconds: 5 }, limit: 5 },
])("'$delay' with a grace period of $limit s is refused with what is allowed", ({ delay, spec, limit }) => {
  expect(() => delayApplicationStop(pod(delay, spec))).toThrow(
    `invalid value '${delay}' for annotation 'inject.pilot-agent.io/application-stop-delay': allowed are whole seconds such as 5s, fewer than the pod's grace period (${limit}s)`,
  );
});
