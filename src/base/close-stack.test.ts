import { expect, test } from "vitest";
import { CloseStack } from "./close-stack.ts";

test("resources close in the reverse of the order they were opened", async () => {
  const closed: string[] = [];
  {
    await using stack = new CloseStack();
    stack.add(() => void closed.push("first"));
    stack.add({ stop: async () => void closed.push("second") });
    stack.add({ close: () => void closed.push("third") });
    stack.add({ [Symbol.asyncDispose]: async () => void closed.push("fourth") });
  }
  expect(closed).toEqual(["fourth", "third", "second", "first"]);
});

test("a moved stack is closed by its new owner only", async () => {
  const closed: string[] = [];
  const owner = await (async () => {
    await using stack = new CloseStack();
    stack.defer(() => void closed.push("socket"));
    return stack.move();
  })();
  expect(closed).toEqual([]);
  await owner.close();
  await owner.close();
  expect(closed).toEqual(["socket"]);
});

test("a failing close does not keep the others open, and all failures are reported", async () => {
  const closed: string[] = [];
  const stack = new CloseStack();
  stack.defer(() => void closed.push("outer"));
  stack.defer(() => Promise.reject(new Error("one")));
  stack.defer(() => {
    throw new Error("two");
  });
  await expect(stack.close()).rejects.toMatchObject({ errors: [{ message: "two" }, { message: "one" }] });
  expect(closed).toEqual(["outer"]);
});

test("a single failure is thrown as it is", async () => {
  const stack = new CloseStack();
  stack.defer(() => Promise.reject(new Error("alone")));
  await expect(stack.close()).rejects.toThrow("alone");
});
