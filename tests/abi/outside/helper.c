int outside_helper(int n);

int outside_helper(int n)
{
    return n + 1;
}
