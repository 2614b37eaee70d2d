import { defineMethod } from "../../grpc/index.ts";
import { int64, type MessageType, message, repeatedString, string } from "../../protobuf/wire/message.ts";

const PRODUCTS: Readonly<Record<string, readonly string[]>> = {
  v1: ["tea", "coffee"],
  v2: ["tea", "coffee", "cocoa"],
  v3: ["green tea", "coffee", "cocoa"],
};

/** What changes from version to version: the names of the products. */
export function catalogueOf(version: string): { readonly version: string; readonly products: readonly string[] } {
  return { version, products: PRODUCTS[version] ?? [] };
}

const listRequest = message({ language: string(1) });
const listResponse = message({ version: string(1), products: repeatedString(2), caller: string(3) });

/** The catalogue as a gRPC service, for the shop without sidecars. */
export const listMethod = defineMethod<"unary", MessageType<typeof listRequest>, MessageType<typeof listResponse>>({
  path: "/shop.Catalogue/List",
  kind: "unary",
  request: listRequest,
  response: listResponse,
});

const quoteRequest = message({ product: string(1) });
const quoteResponse = message({ cents: int64(1), servedBy: string(2) });

/** The demo's one gRPC service. */
export const quoteMethod = defineMethod<"unary", MessageType<typeof quoteRequest>, MessageType<typeof quoteResponse>>({
  path: "/shop.Prices/Quote",
  kind: "unary",
  request: quoteRequest,
  response: quoteResponse,
});
