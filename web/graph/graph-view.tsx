import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { prepare } from "../actions/draft.ts";
import { session, snapshot } from "../state/live.ts";
import { grouped, hidden, hideIdle } from "../state/preferences.ts";
import { model } from "../state/replay.ts";
import { select } from "../state/selection.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { GraphCard } from "./card.tsx";
import { fitInto } from "./pan-zoom.ts";
import { bounds, cardsById, find, frames, layout, rearrange, viewport, visible } from "./scene.ts";
import { attachSurface, isAllInSight, zoomMiddle } from "./surface.ts";
import { Timeline } from "./timeline.tsx";

const MARGIN = { top: 76, side: 36, bottom: 48 };

export function GraphView() {
  const frame = useRef<HTMLElement>(null);
  const edges = useRef<HTMLCanvasElement>(null);
  const flow = useRef<HTMLCanvasElement>(null);
  const labels = useRef<HTMLCanvasElement>(null);
  const cards = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLDivElement>(null);
  const fitNow = () => {
    const element = frame.current;
    if (element === null) return;
    const { width, height } = element.getBoundingClientRect();
    const narrow = width < 640;
    viewport.value = fitInto(bounds.peek(), { width, height }, narrow ? { top: 112, side: 12, bottom: 40 } : MARGIN);
  };
  useEffect(() => {
    const element = frame.current;
    if (element === null || edges.current === null || flow.current === null) return;
    if (labels.current === null || cards.current === null || below.current === null) return;
    let moved = false;
    const detach = attachSurface(
      {
        frame: element,
        edges: edges.current,
        flow: flow.current,
        labels: labels.current,
        layers: [below.current, cards.current],
      },
      {
        canShift: () => session.peek()?.features.actions.includes("shift") ?? false,
        onShift: (id, weights) => {
          const service = cardsById.peek().get(id)?.node;
          if (service === undefined) return;
          select({ kind: "node", id });
          prepare({ kind: "shift", service: service.service ?? service.label, namespace: service.namespace, weights });
        },
        onMoved: () => {
          moved = true;
        },
        onResized: () => {
          if (!moved) fitNow();
        },
      },
    );
    // The view follows what grows out of sight until the user has moved it; it never shrinks what is in sight.
    const dispose = effect(() => {
      layout.value;
      visible.value.cards.length;
      grouped.value;
      const { width, height } = element.getBoundingClientRect();
      if (!moved && !isAllInSight(width, height)) fitNow();
    });
    fitNow();
    return () => {
      dispose();
      detach();
    };
  }, []);
  return (
    <div class="graph-view">
      <section
        class="graph-frame"
        ref={frame}
        tabIndex={0}
        aria-label="Graph of the mesh: arrow keys move, plus and minus zoom"
      >
        <div class="graph-cards" ref={below}>
          {frames.value.map((box) => (
            <div
              key={box.namespace}
              class="namespace-frame"
              style={{
                transform: `translate(${box.x}px, ${box.y}px)`,
                width: `${box.width}px`,
                height: `${box.height}px`,
              }}
            >
              <span class="namespace-name">{box.namespace === "" ? "no namespace" : box.namespace}</span>
            </div>
          ))}
        </div>
        <canvas ref={edges} class="graph-canvas" aria-hidden="true" />
        <canvas ref={flow} class="graph-canvas graph-above" aria-hidden="true" />
        <canvas ref={labels} class="graph-canvas graph-above" aria-hidden="true" />
        <div class="graph-cards" ref={cards}>
          {visible.value.cards.map((card) => {
            const at = layout.value.get(card.id);
            return at && <GraphCard key={card.id} card={card} at={at} />;
          })}
        </div>
        {model.value.cards.length === 0 && <Empty />}
      </section>
      <Toolbar fitNow={fitNow} zoom={(factor) => frame.current !== null && zoomMiddle(frame.current, factor)} />
      <Legend />
      <Timeline />
    </div>
  );
}

function Empty() {
  return (
    <div class="graph-empty">
      <Icon name="graph" size={40} />
      <p>{snapshot.value === undefined ? "Waiting for the first figures of the mesh" : "No services yet"}</p>
    </div>
  );
}

function Toolbar({ fitNow, zoom }: { readonly fitNow: () => void; readonly zoom: (factor: number) => void }) {
  return (
    <div class="graph-toolbar" role="toolbar" aria-label="Graph">
      <label class="search">
        <Icon name="search" />
        <span class="hidden-text">Find</span>
        <input
          id="find"
          type="search"
          placeholder="Find (press /)"
          value={find.value}
          onInput={(event) => {
            find.value = event.currentTarget.value;
          }}
        />
      </label>
      <Toggle icon="group" label="Group by namespace" value={grouped} />
      <Toggle icon="eye-off" label="Hide idle" value={hideIdle} />
      {hidden.value.length > 0 && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            hidden.value = [];
          }}
        >
          <Icon name="eye" /> Show {hidden.value.length} hidden
        </button>
      )}
      <span class="toolbar-gap" />
      <IconAction icon="minus" label="Zoom out" onClick={() => zoom(1 / 1.25)} />
      <IconAction icon="plus" label="Zoom in" onClick={() => zoom(1.25)} />
      <IconAction icon="fit" label="Fit everything" onClick={fitNow} />
      <IconAction
        icon="wand"
        label="Arrange anew"
        onClick={() => {
          rearrange();
          fitNow();
        }}
      />
    </div>
  );
}

interface ToggleProps {
  readonly icon: IconName;
  readonly label: string;
  readonly value: { value: boolean };
}

function Toggle({ icon, label, value }: ToggleProps) {
  return (
    <button
      type="button"
      class={`button small ${value.value ? "on" : ""}`}
      aria-pressed={value.value}
      onClick={() => {
        value.value = !value.value;
      }}
    >
      <Icon name={icon} />
      <span class="wide-only">{label}</span>
      <span class="narrow-only hidden-text">{label}</span>
    </button>
  );
}

function IconAction(props: { readonly icon: IconName; readonly label: string; readonly onClick: () => void }) {
  return (
    <button
      type="button"
      class="icon-button framed"
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

function Legend() {
  return (
    <div class="graph-legend" aria-hidden="true">
      <span>
        <i class="line" /> requests
      </span>
      <span>
        <i class="line line-bad" /> errors
      </span>
      <span>
        <i class="line line-tcp" /> TCP
      </span>
      <span class="legend-lock">
        <Icon name="lock" size={12} /> mutual TLS, as Envoy counts it
      </span>
      <span class="legend-hint">drag an edge to a version up or down to shift traffic</span>
    </div>
  );
}
