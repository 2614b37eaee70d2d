import { model } from "../state/replay.ts";
import { select, selection } from "../state/selection.ts";
import { Icon } from "../ui/icons.tsx";
import { EdgePanel } from "./edge-panel.tsx";
import { NodePanel } from "./node-panel.tsx";
import { Overview } from "./overview.tsx";
import { WorkloadPanel } from "./workload-panel.tsx";

/** The panel at the side: what is selected, or the mesh as a whole. */
export function Inspector() {
  const { value } = selection;
  const isOpen = value.kind !== "none";
  return (
    <aside class={`inspector ${isOpen ? "open" : ""}`} aria-label="Details">
      {isOpen && (
        <button
          type="button"
          class="icon-button inspector-close"
          aria-label="Close details"
          onClick={() => select({ kind: "none" })}
        >
          <Icon name="close" />
        </button>
      )}
      <Content />
    </aside>
  );
}

function Content() {
  const { value } = selection;
  if (value.kind === "workload") return <WorkloadPanel key={value.id} id={value.id} />;
  if (value.kind === "edge") {
    const link = model.value.links.find((candidate) => candidate.id === value.id);
    return link === undefined ? <Gone what="This edge" /> : <EdgePanel key={link.id} link={link} />;
  }
  if (value.kind === "node") {
    const card = model.value.cards.find((candidate) => candidate.members.includes(value.id));
    return card === undefined ? <Gone what="This service" /> : <NodePanel key={card.id} card={card} id={value.id} />;
  }
  return <Overview />;
}

function Gone({ what }: { readonly what: string }) {
  return (
    <div class="panel">
      <p class="empty">{what} is not in the graph at the moment. It is shown again here when it comes back.</p>
    </div>
  );
}
