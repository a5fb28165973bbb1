-- Where worker functions are invoked, and with which key; nulls when unknown.
--
-- The settings pgflow.functions_url and pgflow.functions_key, both or none.
-- Otherwise the local stack's gateway when is_local(), or the project's address, and
-- the key, from vault.decrypted_secrets where that exists: supabase_project_id; pgflow_auth_secret, else
-- supabase_service_role_key. An empty secret is none. The gateway of a local stack wants no key. Never the one from there and the
-- other from here: any session may set an address, and the vault's key must not be
-- sent to it.
-- Locks: none.
create function pgflow._functions_endpoint(out url text, out key text)
language plpgsql
set search_path = ''
as $$
declare
  project text;
begin
  url := nullif(current_setting('pgflow.functions_url', true), '');
  key := nullif(current_setting('pgflow.functions_key', true), '');
  if url is not null or key is not null then
    return;
  end if;

  if to_regclass('vault.decrypted_secrets') is not null then
    execute 'select
        max(s.decrypted_secret) filter (where s.name = ''supabase_project_id''),
        coalesce(max(s.decrypted_secret) filter (where s.name = ''pgflow_auth_secret''),
                 max(s.decrypted_secret) filter (where s.name = ''supabase_service_role_key''))
      from vault.decrypted_secrets s
      where s.decrypted_secret <> '''''
    into project, key;
  end if;
  url := case when pgflow.is_local() then 'http://kong:8000/functions/v1'
              else 'https://' || project || '.supabase.co/functions/v1' end;
end
$$;
