# Included into the project by the test: asks for an SDK that does not exist yet.
find_package(PgflowSDK 1.9 REQUIRED)
