-- A time as operators write it: an age ('1d', '90 minutes') counts back from now, anything that begins with a year is a
-- timestamp ('2026-12-01', '2026-12-01 03:00+01'). Null stays null.
-- Errors: 22007 for a text that is neither.
create function pgflow._point_in_time(text text)
returns timestamptz
language sql
stable
set search_path = ''
as $$
  select case when text ~ '^\s*\d{4}-' then text::timestamptz
              when text is not null then clock_timestamp() - least(text::interval, interval '6000 years')
         end
$$;
