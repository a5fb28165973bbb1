-- is_valid_slug: what may name flows, steps and aliases.
begin;
select plan(14);

select ok(pgflow.is_valid_slug('a'), 'one letter is a slug');
select ok(pgflow.is_valid_slug('Triage_v2'), 'letters, digits and _ make a slug');
select ok(pgflow.is_valid_slug('_a__b_'), 'underscores may stand anywhere');
select ok(pgflow.is_valid_slug('Run'), 'only "run" itself is reserved');
select ok(pgflow.is_valid_slug(repeat('x', 128)), '128 characters are the most');
select ok(not pgflow.is_valid_slug(repeat('x', 129)), '129 characters are too many');
select ok(not pgflow.is_valid_slug(''), 'the empty text is no slug');
select ok(not pgflow.is_valid_slug('run'), 'run is reserved');
select ok(not pgflow.is_valid_slug('1a'), 'a slug does not start with a digit');
select ok(not pgflow.is_valid_slug('a-b'), 'a hyphen is refused');
select ok(not pgflow.is_valid_slug('a b'), 'a space is refused');
select ok(not pgflow.is_valid_slug(e'a\n'), 'a line end is refused');
select ok(not pgflow.is_valid_slug('ä'), 'a letter outside ASCII is refused');
select is(pgflow.is_valid_slug(null), false, 'null is no slug, rather than unknown');

select * from finish();
rollback;
