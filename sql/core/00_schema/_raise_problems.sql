-- Raises with all the reasons why something is refused; none: returns. The first is
-- in the message, and the detail lists them where there are several: one reason is
-- said once.
-- subject: what is refused, as the message begins. remedy: the hint.
create function pgflow._raise_problems(subject text, problems text[], code text, remedy text)
returns void
language plpgsql
set search_path = ''
as $$
begin
  if cardinality(problems) = 1 then
    raise exception '%: %', subject, problems[1] using errcode = code, hint = remedy;
  elsif cardinality(problems) > 1 then
    raise exception '%: %', subject, problems[1]
      using errcode = code, detail = array_to_string(problems, e'\n'), hint = remedy;
  end if;
end
$$;
