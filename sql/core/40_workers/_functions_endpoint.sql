-- Where worker functions are invoked, and with which key; nulls when unknown.
--
-- The settings pgflow.functions_url and pgflow.functions_key win. Otherwise the
-- local stack's gateway when is_local(), or the project's address, and the key,
-- from vault.decrypted_secrets (supabase_project_id, supabase_service_role_key)
-- where that exists.
-- Caller: ensure_workers. Locks: none.
create function pgflow._functions_endpoint(out url text, out key text)
language plpgsql
set search_path = ''
as $$
declare
  project text;
begin
  url := nullif(current_setting('pgflow.functions_url', true), '');
  key := nullif(current_setting('pgflow.functions_key', true), '');
  if to_regclass('vault.decrypted_secrets') is not null then
    execute 'select
        max(s.decrypted_secret) filter (where s.name = ''supabase_project_id''),
        coalesce($1, max(s.decrypted_secret) filter (where s.name = ''supabase_service_role_key''))
      from vault.decrypted_secrets s'
    using key
    into project, key;
  end if;
  url := coalesce(
    url,
    case when pgflow.is_local() then 'http://kong:8000/functions/v1' end,
    'https://' || project || '.supabase.co/functions/v1');
end
$$;
