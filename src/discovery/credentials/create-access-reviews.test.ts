import { expect, test } from "vitest";
import { until } from "../../../test/support/wait/until.ts";
import { CodedError } from "../../base/coded-error.ts";
import { createAccessReviews } from "./create-access-reviews.ts";

class ApiError extends CodedError<"forbidden"> {}

/** An API server that answers as the test says, and a clock that the test moves. */
function setUp() {
  const asked: string[] = [];
  const changes: string[] = [];
  let answer: () => object = () => ({ allowed: true });
  let clock = 1000;
  const reviews = createAccessReviews({
    api: {
      create: async (_, object) => {
        const { spec } = object as { readonly spec: { readonly user: string; readonly resourceAttributes: object } };
        asked.push(`${spec.user} ${JSON.stringify(spec.resourceAttributes)}`);
        return { metadata: { name: "" }, status: answer() };
      },
    },
    onChange: (namespace, account) => changes.push(`${namespace}/${account}`),
    now: () => clock,
  });
  const verdict = async () => {
    const count = changes.length;
    const asking = asked.length;
    const given = reviews.verdict("edge", "gateway");
    if (asked.length > asking) await until(() => expect(changes.length).toBe(count + 1));
    return given.state;
  };
  return {
    reviews,
    asked,
    verdict,
    pass: (ms: number) => {
      clock += ms;
    },
    say: (status: () => object) => {
      answer = status;
    },
  };
}

test("one question serves for five minutes, and the former verdict counts until the next one is there", async () => {
  const { reviews, asked, verdict, pass, say } = setUp();
  expect(await verdict()).toBe("asked");
  expect([await verdict(), await verdict()]).toEqual(["allowed", "allowed"]);
  expect(asked).toEqual(['system:serviceaccount:edge:gateway {"namespace":"edge","verb":"list","resource":"secrets"}']);
  pass(5 * 60_000);
  say(() => ({ allowed: false, reason: "no rule" }));
  expect(await verdict()).toBe("allowed");
  expect(await verdict()).toBe("denied");
  expect(asked).toHaveLength(2);
  reviews.stop();
});

test("a refusal names account and right, and is asked about again after a minute", async () => {
  const { reviews, asked, verdict, pass, say } = setUp();
  say(() => ({ allowed: false }));
  await verdict();
  expect(reviews.verdict("edge", "gateway")).toEqual({
    state: "denied",
    reason: expect.stringContaining("edge/gateway may not list secrets in namespace edge"),
  });
  pass(60_000);
  say(() => ({ allowed: true }));
  await verdict();
  expect([await verdict(), asked.length]).toEqual(["allowed", 2]);
  reviews.stop();
});

test("an API server that cannot be asked leaves an allowed account allowed, and an unknown one without", async () => {
  const failing = () => {
    throw new ApiError("forbidden", "cannot create subjectaccessreviews");
  };
  const first = setUp();
  first.say(failing);
  await first.verdict();
  expect(first.reviews.verdict("edge", "gateway")).toMatchObject({
    state: "denied",
    reason: expect.stringContaining("cannot create subjectaccessreviews"),
  });
  first.reviews.stop();
  const second = setUp();
  await second.verdict();
  second.pass(5 * 60_000);
  second.say(failing);
  await second.verdict();
  expect(await second.verdict()).toBe("allowed");
  second.reviews.stop();
});
