-- Dependencies: step_slug waits for dep_slug. A set; it has no order of its own.
create table pgflow.deps (
  flow_slug text not null,
  dep_slug text not null,
  step_slug text not null,
  primary key (flow_slug, dep_slug, step_slug),
  foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  constraint deps_not_on_itself check (dep_slug <> step_slug)
);

create index deps_by_step on pgflow.deps (flow_slug, step_slug);
