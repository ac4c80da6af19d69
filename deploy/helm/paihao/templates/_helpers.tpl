{{- /* The name before every object: that of the release, with the chart's unless it is in there. */}}
{{- define "paihao.name" -}}
{{- if contains "paihao" .Release.Name }}{{ .Release.Name | trunc 50 }}{{ else }}{{ printf "%s-paihao" .Release.Name | trunc 50 }}{{ end }}
{{- end }}

{{- define "paihao.labels" -}}
app.kubernetes.io/name: paihao
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* The pod of an API or worker process. */}}
{{- define "paihao.pod" -}}
{{- $root := .root }}
{{- $own := index $root.Values .component -}}
metadata:
  labels:
    {{- include "paihao.labels" . | nindent 4 }}
  annotations:
    # Another configuration starts other pods.
    checksum/config: {{ toJson (list $root.Values.config $own.config) | sha256sum }}
    {{- with $own.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # Longer than the sleep before SIGTERM and DRAIN_TIMEOUT together: what has not ended by then returns to its place in line.
  terminationGracePeriodSeconds: {{ $root.Values.terminationGracePeriodSeconds }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    seccompProfile:
      type: RuntimeDefault
  # Spread, so that a node or zone that fails takes few of them.
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "paihao.labels" $ | nindent 10 }}
    {{- end }}
  containers:
    - name: paihao
      image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      env:
        - name: ROLE
          value: {{ .component }}
        - name: STORE
          value: external
        {{- if $root.Values.handlers.existingConfigMap }}
        - name: HANDLERS
          value: /app/handlers
        {{- end }}
        {{- range $name, $value := $own.config }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      envFrom:
        - configMapRef:
            name: {{ include "paihao.name" $root }}
        - secretRef:
            name: {{ $root.Values.existingSecret }}
      ports:
        - name: http
          containerPort: 3000
      # Reading the handlers and connecting to Redis may take a while.
      startupProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 2
        failureThreshold: 30
      # The process answers; it does not ask for the store, so that an outage of Redis restarts nothing.
      livenessProbe:
        httpGet:
          path: /healthz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if eq .component "api" }}
      lifecycle:
        # The process goes on serving until the load balancers have heard that it is going.
        preStop:
          exec:
            command: ["sleep", "5"]
      {{- end }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- if $root.Values.handlers.existingConfigMap }}
        - name: handlers
          mountPath: /app/handlers
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- with $root.Values.handlers.existingConfigMap }}
    - name: handlers
      configMap:
        name: {{ . }}
    {{- end }}
  {{- with $own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* How many of a kind of process may be away at once. */}}
{{- define "paihao.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "paihao.name" .root }}-{{ .component }}
  labels:
    {{- include "paihao.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .root.Values.podDisruptionBudget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "paihao.labels" . | nindent 6 }}
{{- end }}
