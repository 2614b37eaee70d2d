import { expect, test } from "vitest";
import { judge } from "../support/status/soak.ts";

const samples = (memory: (index: number) => number, descriptors: (index: number) => number = () => 30) =>
  Array.from({ length: 20 }, (_, index) => ({
    minute: index,
    anonymousMb: memory(index),
    descriptors: descriptors(index),
    work: {},
  }));

test("a heap that breathes is flat; one that grows is not", () => {
  expect(
    judge(
      samples((index) => 40 + (index % 3) * 10),
      {},
    ),
  ).toEqual([]);
  expect(
    judge(
      samples((index) => 40 + index * 4),
      {},
    ),
  ).toEqual(["memory grew by 20.0 MB"]);
});

test("descriptors and failures count", () => {
  const leaking = samples(
    () => 40,
    (index) => 30 + index * 3,
  );
  expect(judge(leaking, { "dns: timeout": 2 })).toEqual(["descriptors grew by 15", "2 times dns: timeout"]);
});
