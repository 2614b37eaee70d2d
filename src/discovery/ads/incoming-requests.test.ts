import { expect, test } from "vitest";
import { createIncoming } from "./incoming-requests.ts";

test("a request that does not fit waits until those before it have been dealt with, and others wait behind it", async () => {
  const incoming = createIncoming(10);
  const order: string[] = [];
  const [first, second] = [incoming.take(6), incoming.take(4)];
  expect([first.room, second.room]).toEqual([undefined, undefined]);
  const third = incoming.take(5);
  const fourth = incoming.take(1);
  void third.room?.then(() => order.push("third"));
  void fourth.room?.then(() => order.push("fourth"));
  second.release();
  await Promise.resolve();
  expect(order).toEqual([]);
  first.release();
  await Promise.all([third.room, fourth.room]);
  expect(order).toEqual(["third", "fourth"]);
});

test("a request larger than everything is received alone", async () => {
  const incoming = createIncoming(10);
  const small = incoming.take(1);
  const large = incoming.take(100);
  small.release();
  await large.room;
  expect(incoming.take(1).room).toBeInstanceOf(Promise);
});

test("one that ends while it waits makes way for the next", async () => {
  const incoming = createIncoming(10);
  incoming.take(8);
  const [ended, next] = [incoming.take(5), incoming.take(2)];
  ended.release();
  await Promise.all([ended.room, next.room]);
});

test("0 means no limit", () => {
  const incoming = createIncoming(0);
  incoming.take(1e9);
  expect(incoming.take(1e9).room).toBeUndefined();
});
