/** What routers get of Gateways and the rules bound to them. Pure. */

export { passthroughClusters } from "./auto-passthrough.ts";
export { generateGatewayListeners } from "./generate-gateway-listeners.ts";
export { generateGatewayRoute } from "./generate-gateway-route.ts";
