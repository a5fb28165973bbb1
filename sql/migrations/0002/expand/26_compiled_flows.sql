-- Which flows were compiled as a whole: noted at the next start of a host that carries them.
alter table pgflow.flows add column if not exists compiled_at timestamptz;
