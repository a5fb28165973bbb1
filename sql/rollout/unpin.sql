-- For a hot fix: let any code serve the function, until the next manifest that names it is
-- applied. Hosts that stand by notice.
select pgflow.unpin_worker_function(:'function') as unpinned;
