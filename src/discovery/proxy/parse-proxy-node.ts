export {
  NodeError as ProxyNodeError,
  parseNode as parseProxyNode,
  type XdsNode as NodeDescription,
} from "./parse-node.ts";
