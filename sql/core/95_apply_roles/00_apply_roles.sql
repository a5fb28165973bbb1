-- The last step of the installation.
do $$
begin
  perform pgflow._apply_roles();
end
$$;
