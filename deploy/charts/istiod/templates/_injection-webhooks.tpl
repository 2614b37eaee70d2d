{{/* One entry: root, prefix, namespace and object selectors. */}}
{{- define "istiod.injectionWebhook" }}
- name: {{ .prefix }}.sidecar-injector.istio.io
  clientConfig:
    {{- with .root.Values.istiodRemote.injectionURL }}
    url: {{ . | quote }}
    {{- else }}
    service:
      name: {{ include "istiod.name" .root }}
      namespace: {{ .root.Release.Namespace }}
      path: {{ .root.Values.istiodRemote.injectionPath | quote }}
      port: 443
    {{- end }}
    {{- with .root.Values.istiodRemote.injectionCABundle }}
    caBundle: {{ . | b64enc | quote }}
    {{- end }}
  rules:
    - operations: [CREATE]
      apiGroups: [""]
      apiVersions: [v1]
      resources: [pods]
  sideEffects: None
  failurePolicy: Fail
  reinvocationPolicy: {{ .root.Values.sidecarInjectorWebhook.reinvocationPolicy }}
  admissionReviewVersions: [v1]
  namespaceSelector:
    matchExpressions:
      {{- toYaml .namespace | nindent 6 }}
  objectSelector:
    matchExpressions:
      {{- toYaml .object | nindent 6 }}
{{- end }}

{{/* The entries of a configuration: root, revision (or tag) that namespaces and pods name, isDefault: whether unlabelled ones are its own. */}}
{{- define "istiod.injectionWebhooks" }}
{{- $noRevision := dict "key" "istio.io/rev" "operator" "DoesNotExist" }}
{{- $noInjection := dict "key" "istio-injection" "operator" "DoesNotExist" }}
{{- $revision := dict "key" "istio.io/rev" "operator" "In" "values" (list .revision) }}
{{- $enabled := dict "key" "istio-injection" "operator" "In" "values" (list "enabled") }}
{{- $wanted := dict "key" "sidecar.istio.io/inject" "operator" "In" "values" (list "true") }}
{{- $notRefused := dict "key" "sidecar.istio.io/inject" "operator" "NotIn" "values" (list "false") }}
{{- $notSaid := dict "key" "sidecar.istio.io/inject" "operator" "DoesNotExist" }}
{{- $system := list "kube-system" "kube-public" "kube-node-lease" "local-path-storage" }}
{{- $ordinary := dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" $system }}
{{- include "istiod.injectionWebhook" (dict "root" .root "prefix" "rev.namespace" "namespace" (list $revision $noInjection) "object" (list $notRefused)) }}
{{- include "istiod.injectionWebhook" (dict "root" .root "prefix" "rev.object" "namespace" (list $noRevision $noInjection) "object" (list $notRefused $revision)) }}
{{- if .isDefault }}
{{- include "istiod.injectionWebhook" (dict "root" .root "prefix" "namespace" "namespace" (list $enabled) "object" (list $notRefused)) }}
{{- include "istiod.injectionWebhook" (dict "root" .root "prefix" "object" "namespace" (list $noInjection $noRevision) "object" (list $wanted $noRevision)) }}
{{- if .root.Values.sidecarInjectorWebhook.enableNamespacesByDefault }}
{{- include "istiod.injectionWebhook" (dict "root" .root "prefix" "auto" "namespace" (list $noInjection $noRevision $ordinary) "object" (list $notSaid $noRevision)) }}
{{- end }}
{{- end }}
{{- end }}
