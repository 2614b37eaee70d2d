/** The resource type of extension configurations. In a file of its own: it is needed long before anything that works on them. */
export const EXTENSION_CONFIG_TYPE = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
